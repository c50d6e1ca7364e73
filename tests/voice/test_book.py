"""The book of one turn, where it is not an ordinary one."""

from turngap.budget.allowance import DEFAULT
from turngap.budget.clock import MS
from turngap.budget.ledger import Outcome
from turngap.budget.marks import Mark, Span, Stage
from turngap.voice.book import TurnBook
from turngap.voice.endpointing.protocol import Pause
from turngap.voice.events import DraftId

FIRST = DraftId(1, 1)


def span(start: int, end: int) -> Span:
    return Span(stage=Stage.PLAYOUT, start=start * MS, end=end * MS, what="send")


def test_a_turn_that_ended_before_its_first_pause_has_no_marks() -> None:
    book = TurnBook(turn=1, onset=16_000)
    book.close(0, Outcome.ABANDONED)
    report = book.report(DEFAULT)
    assert (report["outcome"], report["onset_s"], report["speech_end_s"]) == ("abandoned", 1.0, None)
    assert (report["marks"], report["spans"], report["reported_gap_ms"]) == ({}, [], None)


def test_the_first_of_two_departures_counts() -> None:
    book = TurnBook(turn=1, onset=0)
    book.paused(FIRST, Pause(speech_end=800, endpoint=4000), speech_end_at=50 * MS, at=60 * MS, spans=[])
    book.sent(FIRST, 300 * MS, span(299, 300))
    book.sent(FIRST, 900 * MS, span(899, 900))
    book.close(1, Outcome.FAILED)
    assert book.ledger.view(1).marks[Mark.SENT].at == 300 * MS
    assert book.report(DEFAULT)["reported_gap_ms"] is None, "what a failed turn took says nothing about the stages"


def test_a_turn_that_was_written_begins_with_being_asked_for() -> None:
    book = TurnBook(turn=1, onset=0)
    book.take_asked(FIRST, "what time is it", at=50 * MS)
    book.sent(FIRST, 300 * MS, span(299, 300))
    book.close(1, Outcome.ANSWERED)
    report = book.report(DEFAULT)
    assert (report["text"], report["reported_gap_ms"]) == ("what time is it", 250.0)
