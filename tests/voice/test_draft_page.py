"""What is written of a draft reaches the ledger with its commit, or never."""

from turngap.budget.ledger import TurnLedger
from turngap.budget.marks import Mark, Span, Stage
from turngap.voice.draft_page import DraftPage


def test_a_page_is_in_the_ledger_from_the_commit_on() -> None:
    ledger, page = TurnLedger(1), DraftPage(revision=2)
    ledger.mark(Mark.SPEECH_END, 0, revision=2, released_by=None)
    page.mark(Mark.REQUEST, 5, released_by=Mark.SPEECH_END)
    page.span(Span(stage=Stage.PREFILL, start=5, end=9))
    page.note("finish", "stop")
    before = page.entered
    assert list(ledger.view(2).marks) == [Mark.SPEECH_END]
    page.enter(ledger)
    page.enter(ledger)
    page.mark(Mark.FIRST_TOKEN, 9, released_by=Mark.REQUEST)
    view = ledger.view(2)
    assert (before, page.entered) == (False, True)
    assert list(view.marks) == [Mark.SPEECH_END, Mark.REQUEST, Mark.FIRST_TOKEN]
    assert (len(view.spans), dict(view.notes)) == (1, {"finish": "stop"})
