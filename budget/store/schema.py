"""The tables of the store, and how an older file becomes a newer one. Pure.

A file carries the number of steps that were taken on it (``PRAGMA user_version``). A step is never changed once it was
released; what is to be different is a step more.

Durations that have to add up are integers of nanoseconds. What a report shows is the JSON of the turn's record.
"""

from typing import Final

APPLICATION: Final = 0x7475726E
"""``PRAGMA application_id``: tells our file from anybody else's."""

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            began TEXT NOT NULL,
            ended TEXT,
            ending TEXT,
            config TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            budget TEXT NOT NULL
        )""",
        """CREATE TABLE turns (
            id INTEGER PRIMARY KEY,
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
            conversation INTEGER NOT NULL,
            number INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'finished', 'unfinished')),
            began TEXT,
            ended TEXT,
            outcome TEXT,
            gap_ns INTEGER,
            culprit TEXT,
            record TEXT,
            UNIQUE (run, conversation, number)
        )""",
        """CREATE TABLE charges (
            turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
            stage TEXT NOT NULL,
            ns INTEGER,
            PRIMARY KEY (turn, stage)
        ) WITHOUT ROWID""",
        "CREATE INDEX turns_open ON turns(run) WHERE state = 'open'",
    ),
    (
        """CREATE TABLE audio (
            turn INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
            type TEXT NOT NULL,
            bytes BLOB NOT NULL
        )""",
    ),
)


def version() -> int:
    """What this program writes."""
    return len(STEPS)
