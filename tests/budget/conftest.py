"""A turn to report on, as the session would have written it."""

from collections.abc import Callable, Mapping

import pytest
from example_budget import EXAMPLE

from turngap.budget.account import Account
from turngap.budget.clock import MS
from turngap.budget.ledger import Outcome, TurnLedger
from turngap.budget.marks import ENDS, Mark, Span, Stage
from turngap.budget.report.record import TurnRecord, reckon

USUAL: Mapping[Mark, int] = {
    Mark.PAUSE: 40,
    Mark.ENDPOINT: 160,
    Mark.TRANSCRIPT: 70,
    Mark.REQUEST: 1,
    Mark.FIRST_TOKEN: 40,
    Mark.SPEAKABLE: 60,
    Mark.FIRST_AUDIO: 40,
    Mark.SENT: 2,
}
"""How long each mark takes after the one before it, in ms: 413 ms together."""

Write = Callable[..., TurnLedger]
Record = Callable[..., TurnRecord]


@pytest.fixture
def write() -> Write:
    """Write a turn in which every stage waits for the one before it, with work all through."""

    def write(*, turn: int = 1, **took: int) -> TurnLedger:
        ledger, at, before = TurnLedger(turn), 0, Mark.SPEECH_END
        ledger.mark(before, at, revision=1, released_by=None)
        for mark, usual in USUAL.items():
            start, at = at, at + took.get(mark.value, usual) * MS
            ledger.mark(mark, at, revision=1, released_by=before)
            ledger.span(Span(stage=ENDS[mark], start=start, end=at), revision=1)
            before = mark
        ledger.close(Outcome.ANSWERED, revision=1)
        return ledger

    return write


@pytest.fixture
def write_draft() -> Callable[[], TurnLedger]:
    """Write a turn whose reply was ready before the endpoint, begun while the user still spoke."""

    def write() -> TurnLedger:
        ledger = TurnLedger(2)
        ledger.mark(Mark.SPEECH_END, 0, revision=1, released_by=None)
        ledger.mark(Mark.REQUEST, -50 * MS, revision=1, released_by=None)
        ledger.mark(Mark.FIRST_TOKEN, -10 * MS, revision=1, released_by=Mark.REQUEST)
        ledger.span(Span(stage=Stage.PREFILL, start=-50 * MS, end=-10 * MS), revision=1)
        ledger.mark(Mark.SPEAKABLE, 60 * MS, revision=1, released_by=Mark.FIRST_TOKEN)
        ledger.span(Span(stage=Stage.DECODE, start=-10 * MS, end=60 * MS), revision=1)
        ledger.mark(Mark.ENDPOINT, 200 * MS, revision=1, released_by=Mark.SPEECH_END)
        ledger.span(Span(stage=Stage.ENDPOINTING, start=0, end=200 * MS), revision=1)
        ledger.mark(Mark.SENT, 203 * MS, revision=1, released_by=Mark.ENDPOINT)
        ledger.span(Span(stage=Stage.PLAYOUT, start=200 * MS, end=203 * MS), revision=1)
        ledger.close(Outcome.ANSWERED, revision=1)
        return ledger

    return write


@pytest.fixture
def record(write: Write) -> Record:
    """The record of a usual turn, heard 10 ms later than reported; ``took`` changes stages, keywords change fields."""

    def record(
        ledger: TurnLedger | None = None, *, took: Mapping[str, int] | None = None, **changed: object
    ) -> TurnRecord:
        ledger = ledger or write(**(took or {}))
        account = Account.of(ledger.view(1), EXAMPLE)
        assert account is not None
        gap = account.gap / MS
        usual: dict[str, object] = {
            "name": "clip.wav",
            "answered": True,
            "heard_gap_ms": gap + 10,
            "heard_from_server_end_ms": gap + 4,
            "speech_end_error_ms": 6.0,
            "first_content_gap_ms": gap + 10,
            "transcript": "a tall latte please",
            "reply": "Sure, a tall latte.",
        }
        return TurnRecord(**{**usual, **reckon(ledger, 1, account), **changed})

    return record
