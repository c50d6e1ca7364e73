"""Changes as rows. Every function here runs within a transaction that its caller has begun."""

import json
import sqlite3
from dataclasses import replace
from typing import assert_never

from turngap.budget.clock import Ns
from turngap.budget.ledger import nanoseconds
from turngap.budget.marks import Stage
from turngap.budget.report.record import TurnRecord
from turngap.budget.store.changes import (
    Change,
    RunBegan,
    RunDescribed,
    RunEnded,
    TurnBegan,
    TurnEnded,
    fingerprint,
)


def apply(database: sqlite3.Connection, change: Change) -> None:
    """Write ``change``. A turn that ended twice is as it was told last."""
    match change:
        case RunBegan():
            database.execute(
                "INSERT INTO runs (id, kind, began, config, fingerprint, budget) VALUES (?, ?, ?, ?, ?, ?)",
                (change.run, change.kind, change.at, *_circumstances(change)),
            )
        case RunDescribed():
            database.execute(
                "UPDATE runs SET config = ?, fingerprint = ?, budget = ? WHERE id = ?",
                (*_circumstances(change), change.run),
            )
        case RunEnded():
            database.execute(
                "UPDATE turns SET state = 'unfinished', ended = ? WHERE run = ? AND state = 'open'",
                (change.at, change.run),
            )
            database.execute(
                "UPDATE runs SET ended = ?, ending = ? WHERE id = ?", (change.at, change.ending, change.run)
            )
        case TurnBegan():
            database.execute(
                "INSERT INTO turns (run, conversation, number, state, began) VALUES (?, ?, ?, 'open', ?)",
                (change.run, change.conversation, change.turn, change.at),
            )
        case TurnEnded():
            _end(database, change)
        case _:
            assert_never(change)


def without_words(record: TurnRecord) -> TurnRecord:
    """The record with figures only: nothing that anybody said."""
    return replace(record, transcript=None, reply=None, opener=None, reference=None)


def charges_ns(record: TurnRecord) -> dict[str, Ns | None]:
    """What each stage is charged, the residual among them; exactly what the account said, in nanoseconds."""
    if record.reported_gap_ms is None:
        return {}
    found = {stage: None if ms is None else nanoseconds(ms) for stage, ms in record.charges_ms.items()}
    return {**found, Stage.RESIDUAL.value: nanoseconds(record.residual_ms or 0.0)}


def _circumstances(change: RunBegan | RunDescribed) -> tuple[str, str, str]:
    config = json.dumps(change.config, ensure_ascii=False, default=str)
    return config, fingerprint(change.config), json.dumps(change.budget)


def _end(database: sqlite3.Connection, change: TurnEnded) -> None:
    record, audio = change.record(), change.audio()
    gap = None if record.reported_gap_ms is None else nanoseconds(record.reported_gap_ms)
    text = json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":"), default=str)
    (number,) = database.execute(
        """INSERT INTO turns (run, conversation, number, state, ended, outcome, gap_ns, culprit, record)
           VALUES (?, ?, ?, 'finished', ?, ?, ?, ?, ?)
           ON CONFLICT (run, conversation, number) DO UPDATE SET state = 'finished', ended = excluded.ended,
           outcome = excluded.outcome, gap_ns = excluded.gap_ns, culprit = excluded.culprit, record = excluded.record
           RETURNING id""",
        (change.run, change.conversation, change.turn, change.at, record.outcome, gap, record.culprit, text),
    ).fetchone()
    database.execute("DELETE FROM charges WHERE turn = ?", (number,))
    database.executemany(
        "INSERT INTO charges (turn, stage, ns) VALUES (?, ?, ?)",
        [(number, stage, ns) for stage, ns in charges_ns(record).items()],
    )
    if audio is not None:
        database.execute(
            "INSERT OR REPLACE INTO audio (turn, type, bytes) VALUES (?, ?, ?)", (number, audio.type, audio.content)
        )
