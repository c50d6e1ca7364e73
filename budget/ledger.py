"""What happened in one turn, written once and never changed.

A ledger belongs to one turn. The session writes into it as things happen: marks with the mark that released each,
spans of work, notes. A *revision* is one wording of the turn; when the user goes on before anything was heard, the
turn is reopened and writes under the next revision, and what earlier revisions wrote stays. A revision inherits
nothing: its marks, causes and spans are its own.

A refused entry changes nothing. It is our own bug, so it raises, and no one catches it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

from turngap.budget.clock import MS, Ns, milliseconds
from turngap.budget.errors import ConfigurationError, UnexpectedEvent
from turngap.budget.marks import Mark, Marked, Span, Stage

NoteValue: TypeAlias = str | int | float | None


class LedgerError(UnexpectedEvent):
    """An entry that contradicts the ledger: a bug of ours; the ledger is as it was before."""


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    """The user took the floor while the reply was heard."""
    NO_WORDS = "no_words"
    """The transcript came back empty, so there was nothing to answer."""
    UNASKED = "unasked"
    """The user's words were kept, and nobody asked for an answer."""
    FAILED = "failed"
    ABANDONED = "abandoned"
    """The client left, or the server stopped, before the turn was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A figure worth keeping beside the times; ``value`` is None where it is unknown."""

    key: str
    value: NoteValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger."""

    revision: int
    fact: Marked | Span | Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What the ledger holds of one revision; a picture, which later entries do not change."""

    turn: int
    revision: int
    marks: Mapping[Mark, Marked]
    spans: tuple[Span, ...]
    notes: Mapping[str, NoteValue]


class TurnLedger:
    """The append-only record of one turn."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.outcome: Outcome | None = None
        """None while the turn is open."""
        self.revision: int | None = None
        """The revision that the turn was closed with: the one that the reply answers, where there was a reply."""
        self._entries: list[Entry] = []
        self._marks: dict[tuple[int, Mark], Marked] = {}
        self._notes: set[tuple[int, str]] = set()

    def __repr__(self) -> str:
        state = self.outcome.value if self.outcome else "open"
        return f"<TurnLedger turn {self.turn}, {state}, {len(self._entries)} entries>"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry, in the order of writing."""
        return tuple(self._entries)

    @property
    def revisions(self) -> tuple[int, ...]:
        """The revisions that have entries, ascending."""
        return tuple(sorted({entry.revision for entry in self._entries}))

    def mark(self, mark: Mark, at: Ns, *, revision: int, released_by: Mark | None) -> None:
        """Write that ``mark`` happened, and which mark of the same revision it had been waiting for.

        ``released_by`` is None for a mark that waited for nothing: ``SPEECH_END``, which never has a cause, or the
        first mark of work that began before the user had stopped.
        """
        self._refuse_if_closed()
        if (revision, mark) in self._marks:
            raise LedgerError(f"turn {self.turn}.{revision}: {mark} is already written")
        if released_by is not None:
            self._refuse_cause(mark, at, self._marks.get((revision, released_by)), released_by, revision)
        written = Marked(mark=mark, at=at, released_by=released_by)
        self._marks[revision, mark] = written
        self._entries.append(Entry(revision=revision, fact=written))

    def span(self, span: Span, *, revision: int) -> None:
        """Write a stretch of work; spans of one stage may overlap."""
        self._refuse_if_closed()
        if span.end < span.start:
            raise LedgerError(f"turn {self.turn}.{revision}: a span of {span.stage} ends before it starts")
        if span.stage is Stage.RESIDUAL:
            raise LedgerError(f"turn {self.turn}.{revision}: residual is what no span covers, it has none of its own")
        self._entries.append(Entry(revision=revision, fact=span))

    def note(self, key: str, value: NoteValue, *, revision: int) -> None:
        """Write a figure under ``key``, once per revision."""
        self._refuse_if_closed()
        if (revision, key) in self._notes:
            raise LedgerError(f"turn {self.turn}.{revision}: the note {key} is already written")
        if isinstance(value, float) and not math.isfinite(value):
            raise LedgerError(f"turn {self.turn}.{revision}: the note {key} is {value}; unknown is None")
        self._notes.add((revision, key))
        self._entries.append(Entry(revision=revision, fact=Note(key=key, value=value)))

    def close(self, outcome: Outcome, *, revision: int | None) -> None:
        """Write how the turn ended; nothing can be written after it."""
        self._refuse_if_closed()
        if revision is None and outcome is Outcome.ANSWERED:
            raise LedgerError(f"turn {self.turn}: answered, but no revision is named")
        if revision is not None and revision not in self.revisions:
            raise LedgerError(f"turn {self.turn}.{revision}: closed, but nothing is written of this revision")
        self.outcome = outcome
        self.revision = revision

    def view(self, revision: int) -> Wording:
        """What is written of ``revision`` so far; empty where nothing is."""
        facts = [entry.fact for entry in self._entries if entry.revision == revision]
        return Wording(
            turn=self.turn,
            revision=revision,
            marks=MappingProxyType({fact.mark: fact for fact in facts if isinstance(fact, Marked)}),
            spans=tuple(fact for fact in facts if isinstance(fact, Span)),
            notes=MappingProxyType({fact.key: fact.value for fact in facts if isinstance(fact, Note)}),
        )

    def to_json(self) -> dict[str, Any]:
        """The whole ledger for JSON: times in ms from the mark written first, whose own instant is ``epoch_ns``.

        Nanoseconds survive the trip through :meth:`from_json` exactly, for turns of up to 26 days.
        """
        epoch = self._epoch()
        return {
            "turn": self.turn,
            "outcome": self.outcome.value if self.outcome else None,
            "revision": self.revision,
            "epoch_ns": epoch,
            "entries": [_entry_to_json(entry, epoch) for entry in self._entries],
        }

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> "TurnLedger":
        """Read what :meth:`to_json` gave; a ConfigurationError says where it is not one."""
        try:
            ledger = cls(int(json["turn"]))
            for entry in json["entries"]:
                _write(ledger, entry, int(json["epoch_ns"]))
            if json["outcome"] is not None:
                revision = json["revision"]
                ledger.close(Outcome(json["outcome"]), revision=None if revision is None else int(revision))
        # Here a contradiction is not our bug: the file comes from outside.
        except (KeyError, TypeError, ValueError, LedgerError) as error:
            raise ConfigurationError(
                f"this is not the ledger of a turn ({error})", remedy="Record the run again with this version"
            ) from error
        return ledger

    def _epoch(self) -> Ns:
        marks = [entry.fact.at for entry in self._entries if isinstance(entry.fact, Marked)]
        spans = (entry.fact.start for entry in self._entries if isinstance(entry.fact, Span))
        return marks[0] if marks else next(spans, 0)

    def _refuse_if_closed(self) -> None:
        if self.outcome is not None:
            raise LedgerError(f"turn {self.turn} is closed ({self.outcome})")

    def _refuse_cause(self, mark: Mark, at: Ns, cause: Marked | None, named: Mark, revision: int) -> None:
        where = f"turn {self.turn}.{revision}"
        if mark is Mark.SPEECH_END:
            raise LedgerError(f"{where}: {mark} begins the gap, nothing released it")
        if cause is None:
            raise LedgerError(f"{where}: {mark} was released by {named}, which is not written")
        if cause.at > at:
            raise LedgerError(f"{where}: {mark} comes {cause.at - at} ns before {named}, which released it")


def _entry_to_json(entry: Entry, epoch: Ns) -> dict[str, Any]:
    return {"revision": entry.revision, **_fact_to_json(entry.fact, epoch)}


def _fact_to_json(fact: Marked | Span | Note, epoch: Ns) -> dict[str, Any]:
    if isinstance(fact, Marked):
        cause = None if fact.released_by is None else fact.released_by.value
        return {"mark": fact.mark.value, "at_ms": milliseconds(fact.at - epoch), "released_by": cause}
    if isinstance(fact, Span):
        start, end = milliseconds(fact.start - epoch), milliseconds(fact.end - epoch)
        return {"span": fact.stage.value, "start_ms": start, "end_ms": end, "what": fact.what}
    return {"note": fact.key, "value": fact.value}


def _write(ledger: TurnLedger, entry: Mapping[str, Any], epoch: Ns) -> None:
    revision = int(entry["revision"])
    if "mark" in entry:
        cause = entry["released_by"]
        at = epoch + nanoseconds(entry["at_ms"])
        ledger.mark(Mark(entry["mark"]), at, revision=revision, released_by=None if cause is None else Mark(cause))
    elif "span" in entry:
        start, end = (epoch + nanoseconds(entry[key]) for key in ("start_ms", "end_ms"))
        ledger.span(Span(stage=Stage(entry["span"]), start=start, end=end, what=entry["what"]), revision=revision)
    else:
        ledger.note(entry["note"], entry["value"], revision=revision)


def nanoseconds(duration_ms: float) -> Ns:
    """Milliseconds, as JSON holds them, back as the integer that they came from."""
    return round(duration_ms * MS)
