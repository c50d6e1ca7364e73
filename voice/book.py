"""The book of one turn: its ledger, what was said on both sides, and the report that clients get of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from turngap.budget.account import Account, Tile
from turngap.budget.allowance import Budget
from turngap.budget.clock import Ns, milliseconds
from turngap.budget.ledger import Outcome, TurnLedger, Wording
from turngap.budget.marks import Mark, Marked, Span
from turngap.voice.endpointing.protocol import VAD_RATE_HZ, Pause
from turngap.voice.events import DraftId
from turngap.voice.layers import Layers


@dataclass(slots=True)
class TurnBook:
    """What the session knows of one turn while it lasts."""

    turn: int
    onset: int
    """First sample of the turn, at 16 kHz."""
    ledger: TurnLedger = field(init=False)
    texts: dict[int, str] = field(default_factory=dict)
    """The user's words, by revision."""
    speech_ends: dict[int, int] = field(default_factory=dict)
    """The sample after the last voiced one, by revision."""
    heard: str = ""
    """What was heard of the reply."""
    spoken_over: str = ""
    """What was said over the reply, as far as it was understood before that was decided."""
    opener: str = ""
    """What was said before there was a reply."""
    content_at: Ns | None = None
    """When more than the opener was heard."""
    failure: str | None = None
    layers: Layers = field(default_factory=Layers)
    asked: int = 0
    """The revision that has no voice: what it answers was written; 0 is none."""
    ordered: bool = False
    """Whether the client has said how the reply is to be made."""
    withdrawn: int = 0
    """Endpoints that were taken back before anything was heard."""
    _decided: tuple[DraftId, Ns, Span, Mark] | None = None

    def __post_init__(self) -> None:
        self.ledger = TurnLedger(self.turn)

    def paused(self, draft: DraftId, pause: Pause, *, speech_end_at: Ns, at: Ns, spans: Iterable[Span]) -> None:
        """Write down a pause, which begins the revision of ``draft``."""
        revision = draft.revision
        self.speech_ends[revision] = pause.speech_end
        speech_end_at = min(speech_end_at, at)
        self.ledger.mark(Mark.SPEECH_END, speech_end_at, revision=revision, released_by=None)
        self.ledger.mark(Mark.PAUSE, at, revision=revision, released_by=Mark.SPEECH_END)
        for span in spans:
            self.ledger.span(span, revision=revision)

    def take_asked(self, draft: DraftId, text: str, *, at: Ns) -> None:
        """The turn was written, and begins with being asked for."""
        self.asked, self.ordered = draft.revision, True
        self.ledger.mark(Mark.SPEECH_END, at, revision=draft.revision, released_by=None)
        self.ledger.mark(Mark.PAUSE, at, revision=draft.revision, released_by=Mark.SPEECH_END)
        self.transcribed(draft, text, at=at, spans=())

    def transcribed(self, draft: DraftId, text: str, *, at: Ns, spans: Iterable[Span]) -> None:
        self.texts[draft.revision] = text
        for span in spans:
            self.ledger.span(span, revision=draft.revision)
        self.ledger.mark(Mark.TRANSCRIPT, at, revision=draft.revision, released_by=Mark.PAUSE)

    def played(self, heard: str, content_at: Ns | None) -> None:
        """What was heard of the reply in the end."""
        self.heard = heard
        self.content_at = content_at

    @property
    def ending(self) -> bool:
        """Whether the turn is over, for all that is known."""
        return self._decided is not None

    def decided(self, draft: DraftId, at: Ns, waited: Span, *, released_by: Mark) -> None:
        """Note the endpoint; it is written when it can't be taken back any more."""
        self._decided = (draft, at, waited, released_by)

    def withdraw(self) -> None:
        """The endpoint was none yet."""
        self._decided = None
        self.withdrawn += 1

    def sent(self, draft: DraftId, at: Ns, span: Span) -> None:
        """Write down that the reply's first audible sample has left; it had waited for the later of its causes."""
        if Mark.SENT in self.ledger.view(draft.revision).marks:
            return  # the excuse, after a reply that broke off
        self._write_endpoint()
        marks = self.ledger.view(draft.revision).marks
        # A draft on words that were supposed waits for the transcript that confirms them.
        causes = [marks[mark] for mark in (Mark.ENDPOINT, Mark.FIRST_AUDIO, Mark.TRANSCRIPT) if mark in marks]
        cause = max(causes, key=lambda marked: marked.at, default=None)
        self.ledger.span(span, revision=draft.revision)
        self.ledger.mark(Mark.SENT, at, revision=draft.revision, released_by=cause.mark if cause else None)

    def close(self, revision: int, outcome: Outcome) -> None:
        self._write_endpoint()
        known = revision if revision in self.ledger.revisions else None
        self.ledger.close(outcome, revision=known)

    def _write_endpoint(self) -> None:
        if self._decided is not None:
            draft, at, waited, released_by = self._decided
            self.ledger.span(waited, revision=draft.revision)
            self.ledger.mark(Mark.ENDPOINT, at, revision=draft.revision, released_by=released_by)
            self._decided = None

    def report(self, budget: Budget) -> dict[str, Any]:
        """The closed turn for JSON. Times are ms from the last voiced sample; what is unknown is null."""
        outcome, revision = self.ledger.outcome, self.ledger.revision
        wording = self.ledger.view(revision if revision is not None else -1)
        # A turn that failed has an excuse for an answer; what its gap was spent on says nothing about the stages.
        account = None if outcome is Outcome.FAILED else Account.of(wording, budget)
        speech_end = self.speech_ends.get(wording.revision)
        return {
            "turn": self.turn,
            "outcome": outcome.value if outcome else None,
            "revisions": len(self.speech_ends),
            "withdrawn_endpoints": self.withdrawn,
            "text": self.texts.get(wording.revision, ""),
            "reply": self.heard,
            "spoken_over": self.spoken_over,
            "opener": self.opener,
            "first_content_gap_ms": self._first_content(account, wording.marks.get(Mark.SPEECH_END)),
            "speculation": self.layers.to_json(wording.marks, self.content_at),
            "failure": self.failure,
            "onset_s": self.onset / VAD_RATE_HZ,
            "speech_end_s": None if speech_end is None else speech_end / VAD_RATE_HZ,
            "budget_ms": milliseconds(budget.total),
            "allowances_ms": budget.to_json()["allowances_ms"],
            "reported_gap_ms": None if account is None else milliseconds(account.gap),
            "charges_ms": {} if account is None else account.to_json()["charges_ms"],
            "residual_ms": None if account is None else milliseconds(account.residual),
            "culprit": account.culprit.value if account and account.culprit else None,
            "verdict": account.sentence() if account else self.failure,
            "path": [mark.value for mark in account.path] if account else [],
            "tiles": [_tile(tile, account) for tile in account.tiles] if account else [],
            **_times(wording),
            "notes": dict(wording.notes),
            "ledger": self.ledger.to_json(),
        }

    def _first_content(self, account: Account | None, start: Marked | None) -> float | None:
        if not self.opener:
            return None if account is None else milliseconds(account.gap)
        return None if self.content_at is None or start is None else milliseconds(self.content_at - start.at)


def _tile(tile: Tile, account: Account) -> dict[str, Any]:
    start = account.tiles[0].start  # the tiles cover the gap, so that the first begins at the speech end
    return {
        "stage": tile.stage.value,
        "start_ms": milliseconds(tile.start - start),
        "end_ms": milliseconds(tile.end - start),
    }


def _times(wording: Wording) -> dict[str, Any]:
    start = wording.marks.get(Mark.SPEECH_END)
    if start is None:
        return {"marks": {}, "spans": []}
    return {
        "marks": {mark.value: milliseconds(marked.at - start.at) for mark, marked in wording.marks.items()},
        "spans": [
            {
                "stage": span.stage.value,
                "what": span.what,
                "start_ms": milliseconds(span.start - start.at),
                "end_ms": milliseconds(span.end - start.at),
            }
            for span in wording.spans
        ],
    }
