"""What is written of a draft while it is only that: nothing of it is in the turn's ledger before its commit. Pure."""

from dataclasses import dataclass, field

from turngap.budget.clock import Ns
from turngap.budget.ledger import NoteValue, TurnLedger
from turngap.budget.marks import Mark, Marked, Span


@dataclass(slots=True)
class DraftPage:
    """Marks, spans and notes of one draft. A draft that is thrown away takes its page with it."""

    revision: int
    _marks: list[Marked] = field(default_factory=list)
    _spans: list[Span] = field(default_factory=list)
    _notes: list[tuple[str, NoteValue]] = field(default_factory=list)
    _ledger: TurnLedger | None = None

    def mark(self, mark: Mark, at: Ns, *, released_by: Mark) -> None:
        """As :meth:`TurnLedger.mark`."""
        self._marks.append(Marked(mark=mark, at=at, released_by=released_by))
        self._copy()

    def span(self, span: Span) -> None:
        self._spans.append(span)
        self._copy()

    def note(self, key: str, value: NoteValue) -> None:
        self._notes.append((key, value))
        self._copy()

    @property
    def entered(self) -> bool:
        """Whether the draft was committed."""
        return self._ledger is not None

    def enter(self, ledger: TurnLedger) -> None:
        """The draft is committed: what is written here, and all that follows, goes into ``ledger``."""
        self._ledger = ledger
        self._copy()

    def _copy(self) -> None:
        ledger = self._ledger
        if ledger is None:
            return
        for each in self._marks:
            ledger.mark(each.mark, each.at, revision=self.revision, released_by=each.released_by)
        for span in self._spans:
            ledger.span(span, revision=self.revision)
        for key, value in self._notes:
            ledger.note(key, value, revision=self.revision)
        self._marks.clear()
        self._spans.clear()
        self._notes.clear()
