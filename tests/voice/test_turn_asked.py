"""The turns of a client that decides by itself when it is answered, as scores."""

import pytest

from turngap.budget.clock import MS
from turngap.budget.ledger import Outcome
from turngap.voice.effects import (
    BeginTurn,
    Commit,
    Discard,
    Draft,
    Endpoint,
    EndTurn,
    Hush,
    TakeAsked,
    TakeFloor,
    Transcribe,
)
from turngap.voice.events import Asked, AudioStarted, Dismissed, DraftId, Heard, SpeechPaused, SpeechStarted
from turngap.voice.turn import State, TurnMachine, Yielding

FIRST = DraftId(1, 1)
ASKED = Asked(at=10 * MS, text="hi")


def spoken(machine: TurnMachine) -> None:
    """A turn whose endpoint has passed and whose words are not known yet."""
    machine.feed(SpeechStarted(at=0))
    machine.feed(SpeechPaused(at=900 * MS, speech_end=900 * MS, endpoint_due=1100 * MS))
    machine.tick(1100 * MS)


def heard(text: str = "hi") -> Heard:
    return Heard(at=1200 * MS, id=FIRST, text=text, until=900 * MS)


def test_what_was_written_is_answered_at_once() -> None:
    assert TurnMachine().feed(ASKED) == [
        BeginTurn(1, 10 * MS),
        TakeAsked(FIRST, "hi"),
        Endpoint(FIRST),
        Draft(FIRST, "hi"),
        Commit(FIRST),
    ]


def test_a_turn_that_nobody_wants_answered_is_kept() -> None:
    machine = TurnMachine()
    machine.answers = False
    spoken(machine)
    assert machine.feed(heard()) == [TakeFloor(FIRST), EndTurn(FIRST, Outcome.UNASKED)]


@pytest.mark.parametrize("late", [False, True])
def test_asked_before_its_words_are_known_it_is_answered(late: bool) -> None:
    machine = TurnMachine()
    machine.answers = False
    if not late:
        machine.feed(SpeechStarted(at=0))
        machine.feed(ASKED)
        machine.feed(SpeechPaused(at=900 * MS, speech_end=900 * MS, endpoint_due=1100 * MS))
        machine.tick(1100 * MS)
    else:
        spoken(machine)
        assert machine.feed(ASKED) == []
    assert machine.feed(heard()) == [Draft(FIRST, "hi"), Commit(FIRST)]


def test_a_turn_that_is_not_over_is_dismissed_without_a_trace() -> None:
    machine = TurnMachine()
    machine.feed(SpeechStarted(at=0))
    assert machine.feed(Dismissed(at=5)) == [EndTurn(DraftId(1, 0), Outcome.INTERRUPTED)]
    assert machine.feed(Dismissed(at=6)) == []


def test_dismissed_before_it_is_heard_a_reply_is_discarded_and_the_words_are_kept() -> None:
    machine = TurnMachine()
    machine.feed(ASKED)
    assert machine.feed(Dismissed(at=20 * MS)) == [
        TakeFloor(FIRST),
        Discard(FIRST),
        EndTurn(FIRST, Outcome.INTERRUPTED),
    ]


def test_dismissed_while_it_is_heard_a_reply_is_hushed() -> None:
    machine = TurnMachine()
    machine.feed(ASKED)
    machine.feed(AudioStarted(at=15 * MS, id=FIRST))
    assert machine.feed(Dismissed(at=20 * MS)) == [Hush(FIRST), EndTurn(FIRST, Outcome.INTERRUPTED)]


def test_dismissed_while_a_voice_is_over_it_a_reply_leaves_the_floor_to_that() -> None:
    machine = TurnMachine()
    machine.yield_floor(Yielding.TO_WORDS)
    machine.feed(ASKED)
    machine.feed(AudioStarted(at=15 * MS, id=FIRST))
    machine.feed(SpeechStarted(at=20 * MS))
    assert machine.feed(Dismissed(at=30 * MS)) == [
        Hush(FIRST),
        EndTurn(FIRST, Outcome.INTERRUPTED),
        BeginTurn(2, 20 * MS),
    ]
    assert machine.state is State.USER


def test_a_silent_end_of_a_dismissed_opening_leaves_nothing_due() -> None:
    machine = TurnMachine(open_after=0)
    spoken(machine)
    machine.tick(1100 * MS)
    machine.feed(AudioStarted(at=1110 * MS, id=FIRST, opener=True))
    assert machine.feed(Dismissed(at=1120 * MS)) == [Hush(FIRST), EndTurn(FIRST, Outcome.INTERRUPTED)]
    assert machine.timer() is None
    assert machine.feed(ASKED)[1:2] == [TakeAsked(DraftId(2, 1), "hi")]
    assert Transcribe(FIRST) not in machine.feed(ASKED)
