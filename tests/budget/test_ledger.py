"""The ledger: every entry once, causes before effects, and what is refused changes nothing."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS, SECOND
from turngap.budget.errors import ConfigurationError, UnexpectedEvent
from turngap.budget.ledger import LedgerError, Note, Outcome, TurnLedger, nanoseconds
from turngap.budget.marks import Mark, Marked, Span, Stage


@pytest.fixture
def ledger() -> TurnLedger:
    ledger = TurnLedger(7)
    ledger.mark(Mark.SPEECH_END, 100, revision=1, released_by=None)
    ledger.mark(Mark.ENDPOINT, 300, revision=1, released_by=Mark.SPEECH_END)
    return ledger


def test_marks_spans_and_notes_are_seen_in_the_view_of_their_revision(ledger: TurnLedger) -> None:
    work = Span(stage=Stage.ASR, start=150, end=250, what="pass")
    ledger.span(work, revision=1)
    ledger.note("prefilled_tokens", 11, revision=1)
    view = ledger.view(1)
    assert view.marks[Mark.ENDPOINT] == Marked(mark=Mark.ENDPOINT, at=300, released_by=Mark.SPEECH_END)
    assert view.spans == (work,)
    assert view.notes == {"prefilled_tokens": 11}
    assert (view.turn, view.revision) == (7, 1)


def test_a_view_is_a_picture_that_later_entries_do_not_change(ledger: TurnLedger) -> None:
    view = ledger.view(1)
    ledger.mark(Mark.TRANSCRIPT, 400, revision=1, released_by=Mark.ENDPOINT)
    assert Mark.TRANSCRIPT not in view.marks


def test_a_reopened_turn_writes_under_the_next_revision_and_keeps_the_first(ledger: TurnLedger) -> None:
    ledger.mark(Mark.SPEECH_END, 900, revision=2, released_by=None)
    assert ledger.view(1).marks[Mark.SPEECH_END].at == 100
    assert ledger.view(2).marks[Mark.SPEECH_END].at == 900
    assert ledger.revisions == (1, 2)


def test_a_revision_inherits_no_cause(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.mark(Mark.TRANSCRIPT, 900, revision=2, released_by=Mark.ENDPOINT), "not written")


def test_work_that_began_before_the_speech_end_has_a_first_mark_without_cause(ledger: TurnLedger) -> None:
    ledger.mark(Mark.REQUEST, 20, revision=1, released_by=None)
    assert ledger.view(1).marks[Mark.REQUEST].released_by is None


def test_a_mark_is_written_once(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.mark(Mark.ENDPOINT, 310, revision=1, released_by=Mark.SPEECH_END), "already")


def test_a_cause_must_be_known(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.mark(Mark.SENT, 900, revision=1, released_by=Mark.FIRST_AUDIO), "not written")


def test_a_cause_is_never_later_than_its_effect(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.mark(Mark.SENT, 299, revision=1, released_by=Mark.ENDPOINT), "1 ns before")


def test_a_cause_may_come_at_the_same_instant(ledger: TurnLedger) -> None:
    ledger.mark(Mark.SENT, 300, revision=1, released_by=Mark.ENDPOINT)
    assert ledger.view(1).marks[Mark.SENT].at == 300


def test_nothing_releases_the_speech_end(ledger: TurnLedger) -> None:
    ledger.mark(Mark.REQUEST, 20, revision=2, released_by=None)
    refused(ledger, lambda: ledger.mark(Mark.SPEECH_END, 900, revision=2, released_by=Mark.REQUEST), "begins")


def test_a_span_does_not_end_before_it_starts(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.span(Span(stage=Stage.TTS, start=2, end=1), revision=1), "ends before")


def test_residual_is_not_work(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.span(Span(stage=Stage.RESIDUAL, start=1, end=2), revision=1), "no span")


def test_a_note_is_written_once_per_revision(ledger: TurnLedger) -> None:
    ledger.note("tokens", None, revision=1)
    ledger.note("tokens", 3, revision=2)
    refused(ledger, lambda: ledger.note("tokens", 4, revision=1), "already")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_note_is_a_number_or_unknown(ledger: TurnLedger, value: float) -> None:
    refused(ledger, lambda: ledger.note("ratio", value, revision=1), "unknown is None")


def test_closing_says_how_the_turn_ended(ledger: TurnLedger) -> None:
    assert repr(ledger) == "<TurnLedger turn 7, open, 2 entries>"
    ledger.close(Outcome.ANSWERED, revision=1)
    assert (ledger.outcome, ledger.revision) == (Outcome.ANSWERED, 1)
    assert repr(ledger) == "<TurnLedger turn 7, answered, 2 entries>"


def test_a_closed_ledger_takes_nothing_more(ledger: TurnLedger) -> None:
    ledger.close(Outcome.ABANDONED, revision=None)
    refused(ledger, lambda: ledger.mark(Mark.SENT, 900, revision=1, released_by=Mark.ENDPOINT), "closed")
    refused(ledger, lambda: ledger.span(Span(stage=Stage.TTS, start=1, end=2), revision=1), "closed")
    refused(ledger, lambda: ledger.note("tokens", 1, revision=1), "closed")
    refused(ledger, lambda: ledger.close(Outcome.ANSWERED, revision=1), "closed")


def test_an_answer_names_the_revision_that_it_answers(ledger: TurnLedger) -> None:
    refused(ledger, lambda: ledger.close(Outcome.ANSWERED, revision=None), "no revision")
    refused(ledger, lambda: ledger.close(Outcome.FAILED, revision=9), "nothing is written")


def test_a_refusal_is_a_bug_of_ours() -> None:
    assert issubclass(LedgerError, UnexpectedEvent)


def test_json_counts_from_the_mark_written_first() -> None:
    ledger = TurnLedger(3)
    ledger.span(Span(stage=Stage.ASR, start=4 * MS, end=7 * MS, what="pass"), revision=1)
    ledger.mark(Mark.SPEECH_END, 5 * MS, revision=1, released_by=None)
    ledger.mark(Mark.ENDPOINT, 205 * MS + 1, revision=1, released_by=Mark.SPEECH_END)
    ledger.note("text", "hello", revision=1)
    ledger.close(Outcome.NO_WORDS, revision=1)
    assert ledger.to_json() == {
        "turn": 3,
        "outcome": "no_words",
        "revision": 1,
        "epoch_ns": 5 * MS,
        "entries": [
            {"revision": 1, "span": "asr", "start_ms": -1.0, "end_ms": 2.0, "what": "pass"},
            {"revision": 1, "mark": "speech_end", "at_ms": 0.0, "released_by": None},
            {"revision": 1, "mark": "endpoint", "at_ms": 200.000001, "released_by": "speech_end"},
            {"revision": 1, "note": "text", "value": "hello"},
        ],
    }


def test_json_of_a_ledger_without_marks_counts_from_its_first_span_or_from_nothing() -> None:
    ledger = TurnLedger(1)
    assert ledger.to_json()["epoch_ns"] == 0
    ledger.span(Span(stage=Stage.ASR, start=9 * MS, end=9 * MS), revision=1)
    assert ledger.to_json()["epoch_ns"] == 9 * MS


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"turn": "x"},
        {"entries": [{"revision": 1, "mark": "lunch", "at_ms": 0, "released_by": None}]},
        {"entries": [{"revision": 1, "mark": "sent", "at_ms": 0, "released_by": "endpoint"}]},
        {"entries": [{"revision": 1, "span": "asr", "start_ms": None, "end_ms": 1, "what": ""}]},
        {"outcome": "splendid"},
    ],
)
def test_what_is_no_ledger_is_refused_with_a_remedy(broken: dict[str, Any]) -> None:
    sound: dict[str, Any] = {"turn": 1, "outcome": None, "revision": None, "epoch_ns": 0, "entries": []}
    with pytest.raises(ConfigurationError, match="not the ledger of a turn"):
        TurnLedger.from_json({**sound, **broken} if broken else {})


INSTANTS = st.integers(-3600 * SECOND, 24 * 3600 * SECOND)


@st.composite
def ledgers(draw: st.DrawFn) -> TurnLedger:
    ledger = TurnLedger(draw(st.integers(1, 99)))
    for revision in draw(st.lists(st.integers(1, 4), unique=True, max_size=2)):
        known: dict[Mark, int] = {}
        for mark in draw(st.lists(st.sampled_from(list(Mark)), unique=True, max_size=6)):
            cause = None if mark is Mark.SPEECH_END else draw(st.sampled_from([None, *known]))
            known[mark] = draw(INSTANTS) if cause is None else known[cause] + draw(st.integers(0, SECOND))
            ledger.mark(mark, known[mark], revision=revision, released_by=cause)
        for stage in draw(st.lists(st.sampled_from(list(Stage)[:-1]), max_size=3)):
            start = draw(INSTANTS)
            span = Span(
                stage=stage, start=start, end=start + draw(st.integers(0, SECOND)), what=draw(st.text(max_size=4))
            )
            ledger.span(span, revision=revision)
        ledger.note(
            "note", draw(st.none() | st.integers() | st.text(max_size=4) | st.floats(-1e9, 1e9)), revision=revision
        )
    if draw(st.booleans()):
        ledger.close(Outcome.FAILED, revision=draw(st.sampled_from([None, *ledger.revisions])))
    return ledger


@given(ledgers())
def test_a_ledger_survives_json_to_the_nanosecond(ledger: TurnLedger) -> None:
    read = TurnLedger.from_json(json.loads(json.dumps(ledger.to_json())))
    assert read.entries == ledger.entries
    assert (read.turn, read.outcome, read.revision) == (ledger.turn, ledger.outcome, ledger.revision)


@given(INSTANTS)
def test_a_duration_survives_milliseconds(duration: int) -> None:
    assert nanoseconds(json.loads(json.dumps(duration / MS))) == duration


def test_a_note_is_kept_as_it_is(ledger: TurnLedger) -> None:
    ledger.note("won_ms", 12.5, revision=1)
    assert ledger.entries[-1].fact == Note(key="won_ms", value=12.5)


def refused(ledger: TurnLedger, write: Any, why: str) -> None:
    before = ledger.to_json()
    with pytest.raises(LedgerError, match=why):
        write()
    assert ledger.to_json() == before
