"""Scores of the turn machine: facts with times in, effects with times out."""

import heapq
import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngap.budget.clock import MS, Ns
from turngap.budget.errors import UnexpectedEvent
from turngap.budget.ledger import Outcome
from turngap.voice.effects import (
    BeginTurn,
    Commit,
    Contest,
    Discard,
    Draft,
    Effect,
    Endpoint,
    EndTurn,
    Excuse,
    FallSilent,
    GoOn,
    HoldBack,
    Hush,
    Open,
    SpeakOn,
    TakeFloor,
    Transcribe,
    Understand,
)
from turngap.voice.endpointing.wording import Claim
from turngap.voice.events import (
    AudioEnded,
    AudioStarted,
    DraftId,
    EndpointMoved,
    Event,
    Heard,
    NotHeard,
    ReplyFailed,
    SpeechPaused,
    SpeechStarted,
    Supposed,
)
from turngap.voice.turn import FALSE_ALARMS, TRANSITIONS, State, TurnMachine, Yielding

FIRST = DraftId(1, 1)
SECOND = DraftId(1, 2)


def play(machine: TurnMachine, *events: Event, until: Ns = 0) -> list[tuple[Ns, Effect]]:
    """Feed ``events`` in order, letting timers fire between them as a session would."""
    effects: list[tuple[Ns, Effect]] = []

    def let_pass(now: Ns) -> None:
        while (due := machine.timer()) is not None and due < now:
            effects.extend((due, effect) for effect in machine.tick(due))

    for event in events:
        let_pass(event.at)
        effects.extend((event.at, effect) for effect in machine.feed(event))
    let_pass(until)
    return effects


def pause(at: int, *, due: int, ended: int | None = None) -> SpeechPaused:
    return SpeechPaused(at=at * MS, speech_end=(at - 50 if ended is None else ended) * MS, endpoint_due=due * MS)


def heard(at: int, draft: DraftId, text: str, *, until: int | None = None) -> Heard:
    return Heard(at=at * MS, id=draft, text=text, until=(at if until is None else until) * MS)


def asked(machine: TurnMachine) -> list[tuple[Ns, Effect]]:
    """A turn up to its endpoint at 1.1 s, its draft ready to be heard."""
    return play(
        machine,
        SpeechStarted(at=0),
        pause(900, due=1100),
        heard(1000, FIRST, "what time is it"),
        until=1101 * MS,
    )


def test_a_pause_that_lasts_becomes_the_endpoint() -> None:
    assert asked(TurnMachine()) == [
        (0, BeginTurn(1, 0)),
        (900 * MS, Transcribe(FIRST)),
        (1000 * MS, Draft(FIRST, "what time is it")),
        (1100 * MS, Endpoint(FIRST)),
        (1100 * MS, Commit(FIRST)),
    ]


def test_going_on_speaking_discards_the_draft_unheard() -> None:
    effects = play(
        TurnMachine(),
        SpeechStarted(at=0),
        pause(900, due=1100),
        heard(1000, FIRST, "what time"),
        SpeechStarted(at=1050 * MS),
        pause(1500, due=1700),
        heard(1600, SECOND, "what time is it"),
        until=1800 * MS,
    )
    assert effects[2:] == [
        (1000 * MS, Draft(FIRST, "what time")),
        (1050 * MS, GoOn(1)),
        (1050 * MS, Discard(FIRST)),
        (1500 * MS, Transcribe(SECOND)),
        (1600 * MS, Draft(SECOND, "what time is it")),
        (1700 * MS, Endpoint(SECOND)),
        (1700 * MS, Commit(SECOND)),
    ]


def test_a_turn_is_reopened_while_nothing_was_heard() -> None:
    machine = TurnMachine()
    asked(machine)
    assert play(machine, SpeechStarted(at=1200 * MS), pause(1500, due=1700)) == [
        (1200 * MS, GoOn(1)),
        (1200 * MS, Discard(FIRST)),
        (1500 * MS, Transcribe(SECOND)),
    ]


def test_a_late_transcript_commits_at_once() -> None:
    effects = play(TurnMachine(), SpeechStarted(at=0), pause(900, due=1100), heard(1300, FIRST, "yes"), until=1400 * MS)
    assert effects[-3:] == [
        (1100 * MS, Endpoint(FIRST)),
        (1300 * MS, Draft(FIRST, "yes")),
        (1300 * MS, Commit(FIRST)),
    ]


@pytest.mark.parametrize("at", [1000, 1300])
def test_a_turn_without_words_ends_unanswered(at: int) -> None:
    effects = play(TurnMachine(), SpeechStarted(at=0), pause(900, due=1100), heard(at, FIRST, ""), until=1400 * MS)
    assert effects[-1] == (max(at, 1100) * MS, EndTurn(FIRST, Outcome.NO_WORDS))


def test_without_drafting_at_the_pause_the_draft_waits_for_the_endpoint() -> None:
    effects = asked(TurnMachine(draft_at_pause=False))
    assert effects[-3:] == [
        (1100 * MS, Endpoint(FIRST)),
        (1100 * MS, Draft(FIRST, "what time is it")),
        (1100 * MS, Commit(FIRST)),
    ]


def test_a_reply_that_was_played_ends_the_turn() -> None:
    machine = TurnMachine()
    asked(machine)
    effects = play(machine, AudioStarted(at=1150 * MS, id=FIRST), AudioEnded(at=3000 * MS, id=FIRST))
    assert effects == [(1150 * MS, TakeFloor(FIRST)), (3000 * MS, EndTurn(FIRST, Outcome.ANSWERED))]


def moved(at: int, *, due: int) -> EndpointMoved:
    return EndpointMoved(at=at * MS, due=due * MS)


def test_an_endpoint_can_come_sooner_than_it_was_due() -> None:
    effects = play(
        TurnMachine(),
        SpeechStarted(at=0),
        pause(900, due=1700),
        heard(950, FIRST, "yes"),
        moved(960, due=950),
        until=961 * MS,
    )
    assert effects[-2:] == [(950 * MS, Endpoint(FIRST)), (950 * MS, Commit(FIRST))]


def test_on_second_thoughts_a_reply_is_held_back_and_heard_later() -> None:
    machine = TurnMachine()
    asked(machine)
    effects = play(machine, moved(1150, due=1900), until=2000 * MS)
    assert effects == [(1150 * MS, HoldBack(FIRST)), (1900 * MS, Endpoint(FIRST)), (1900 * MS, Commit(FIRST))]


def test_on_second_thoughts_there_is_nothing_to_hold_back_where_nothing_was_let_out() -> None:
    machine = TurnMachine()
    play(machine, SpeechStarted(at=0), pause(900, due=1100), until=1101 * MS)
    effects = play(machine, moved(1150, due=1900), heard(1200, FIRST, "yes"), until=2000 * MS)
    assert effects == [(1200 * MS, Draft(FIRST, "yes")), (1900 * MS, Endpoint(FIRST)), (1900 * MS, Commit(FIRST))]


def test_who_goes_on_after_second_thoughts_never_hears_the_reply() -> None:
    machine = TurnMachine()
    asked(machine)
    effects = play(machine, moved(1150, due=1900), SpeechStarted(at=1500 * MS))
    assert effects == [(1150 * MS, HoldBack(FIRST)), (1500 * MS, GoOn(1)), (1500 * MS, Discard(FIRST))]


def test_a_thought_that_comes_too_late_changes_nothing() -> None:
    machine = TurnMachine()
    asked(machine)
    assert play(machine, moved(1150, due=1120)) == []
    assert play(machine, AudioStarted(at=1160 * MS, id=FIRST), moved(1170, due=1900)) == [(1160 * MS, TakeFloor(FIRST))]


def test_a_reply_that_slips_out_during_second_thoughts_is_spoken_on() -> None:
    machine = TurnMachine()
    asked(machine)
    effects = play(machine, moved(1150, due=1900), AudioStarted(at=1151 * MS, id=FIRST), until=3000 * MS)
    assert effects[1:] == [(1151 * MS, TakeFloor(FIRST)), (1151 * MS, SpeakOn(FIRST))]


def speaking(machine: TurnMachine) -> TurnMachine:
    """Our reply is heard since 1.15 s."""
    asked(machine)
    play(machine, AudioStarted(at=1150 * MS, id=FIRST))
    return machine


def claims(text: str) -> Claim:
    return {"": Claim.NONE, "mhm": Claim.NONE, "hello": Claim.DOUBTFUL}.get(text, Claim.SURE)


@pytest.mark.parametrize("text", ["", "mhm"])
def test_what_is_said_along_stops_the_reply_for_a_moment(text: str) -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(
        machine,
        SpeechStarted(at=1500 * MS),
        pause(1700, due=1900),
        heard(1850, FIRST, text),
        AudioEnded(at=3000 * MS, id=FIRST),
    )
    assert effects == [
        (1500 * MS, Contest(FIRST)),
        (1500 * MS, FallSilent(FIRST)),
        (1700 * MS, Understand(FIRST)),
        (1850 * MS, SpeakOn(FIRST)),
        (3000 * MS, EndTurn(FIRST, Outcome.ANSWERED)),
    ]


def test_words_take_the_floor_while_they_are_spoken() -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(machine, SpeechStarted(at=1500 * MS), heard(1850, FIRST, "wait"), pause(2500, due=2700))
    assert effects[2:] == [
        (1850 * MS, Hush(FIRST)),
        (1850 * MS, EndTurn(FIRST, Outcome.INTERRUPTED)),
        (1850 * MS, BeginTurn(2, 1500 * MS)),
        (2500 * MS, Transcribe(DraftId(2, 1))),
    ]


def test_a_word_that_was_understood_after_it_had_ended_is_a_turn_that_has_paused() -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(
        machine, SpeechStarted(at=1500 * MS), pause(1700, due=1900), heard(1800, FIRST, "stop"), until=2000 * MS
    )
    assert effects[3:] == [
        (1800 * MS, Hush(FIRST)),
        (1800 * MS, EndTurn(FIRST, Outcome.INTERRUPTED)),
        (1800 * MS, BeginTurn(2, 1500 * MS)),
        (1800 * MS, Transcribe(DraftId(2, 1))),
        (1900 * MS, Endpoint(DraftId(2, 1))),
    ]


def test_a_voice_that_nobody_understood_in_time_is_given_the_floor() -> None:
    machine = speaking(TurnMachine(decide=650 * MS))
    effects = play(machine, SpeechStarted(at=1500 * MS), until=2200 * MS)
    assert effects[2:] == [
        (2150 * MS, Hush(FIRST)),
        (2150 * MS, EndTurn(FIRST, Outcome.INTERRUPTED)),
        (2150 * MS, BeginTurn(2, 1500 * MS)),
    ]


def test_a_voice_that_is_known_to_be_gone_just_too_late_is_not_given_the_floor() -> None:
    machine = speaking(TurnMachine(claims=claims, decide=650 * MS))
    effects = play(
        machine,
        SpeechStarted(at=1500 * MS),
        pause(2050, due=2400, ended=1950),
        heard(2100, FIRST, "mhm"),
        until=2200 * MS,
    )
    assert effects[2:] == [(2050 * MS, Understand(FIRST)), (2100 * MS, SpeakOn(FIRST))]


@pytest.mark.parametrize("gone", [1800, 2040])
def test_one_word_of_a_short_voice_is_not_believed(gone: int) -> None:
    machine = speaking(TurnMachine(claims=claims, decide=650 * MS))
    effects = play(
        machine,
        SpeechStarted(at=1500 * MS),
        heard(1790, FIRST, "hello"),
        pause(gone, due=gone + 300),
        heard(gone + 60, FIRST, "hello"),
    )
    assert effects[2:] == [(gone * MS, Understand(FIRST)), ((gone + 60) * MS, SpeakOn(FIRST))]


def test_one_word_of_a_voice_that_goes_on_is_believed() -> None:
    machine = speaking(TurnMachine(claims=claims, decide=650 * MS))
    effects = play(machine, SpeechStarted(at=1500 * MS), heard(1790, FIRST, "hello"), until=2200 * MS)
    assert effects[2] == (2150 * MS, Hush(FIRST))


def test_one_long_word_is_believed_when_it_is_over() -> None:
    machine = speaking(TurnMachine(claims=claims, decide=650 * MS))
    effects = play(machine, SpeechStarted(at=1500 * MS), pause(2100, due=2400), heard(2140, FIRST, "hello"))
    assert effects[3] == (2140 * MS, Hush(FIRST))


def test_a_noise_that_lasts_is_spoken_over_until_there_are_words_in_it() -> None:
    machine = speaking(TurnMachine(claims=claims, decide=650 * MS))
    effects = play(machine, SpeechStarted(at=1500 * MS), heard(2100, FIRST, "", until=2050), until=2300 * MS)
    assert effects[2:] == [(2150 * MS, SpeakOn(FIRST))]
    assert play(machine, heard(2400, FIRST, "hello"))[0] == (2400 * MS, Hush(FIRST))


def test_no_words_in_its_first_syllable_say_nothing_of_a_voice_that_goes_on() -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(
        machine, SpeechStarted(at=1500 * MS), heard(1950, FIRST, "", until=1700), heard(2400, FIRST, "two coffees")
    )
    assert effects[2] == (2400 * MS, Hush(FIRST))


def test_a_voice_without_words_does_not_keep_us_silent_for_ever() -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(machine, SpeechStarted(at=1500 * MS), heard(1950, FIRST, "", until=1700), until=4000 * MS)
    assert effects[2:] == [(3050 * MS, SpeakOn(FIRST))]


@pytest.mark.parametrize(
    ("text", "answer"), [("wait a minute", Hush(FIRST)), ("this is the end of the video", SpeakOn(FIRST))]
)
def test_more_words_than_can_be_said_in_that_time_are_none(text: str, answer: Effect) -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(machine, SpeechStarted(at=1500 * MS), pause(1990, due=2300), heard(1995, FIRST, text))
    assert effects[3] == (1995 * MS, answer)


def test_a_cough_whose_words_are_late_is_not_waited_for() -> None:
    machine = speaking(TurnMachine(claims=claims, decide=500 * MS))
    effects = play(machine, SpeechStarted(at=1500 * MS), pause(1800, due=2000), heard(2200, FIRST, ""), until=2300 * MS)
    assert effects[2:] == [(1800 * MS, Understand(FIRST)), (2000 * MS, SpeakOn(FIRST))]
    assert machine.state is State.AGENT


def test_a_voice_that_comes_back_is_the_same_contest() -> None:
    machine = speaking(TurnMachine(claims=claims))
    effects = play(
        machine,
        SpeechStarted(at=1500 * MS),
        pause(1700, due=1900),
        SpeechStarted(at=1750 * MS),
        heard(1800, FIRST, ""),
        heard(1950, FIRST, "wait"),
    )
    assert effects[3:5] == [(1750 * MS, GoOn(1)), (1950 * MS, Hush(FIRST))]


def test_a_reply_that_was_stopped_for_nothing_too_often_stops_for_words_only() -> None:
    machine = speaking(TurnMachine(claims=claims))
    for alarm in range(FALSE_ALARMS):
        at = 1500 + 300 * alarm
        play(machine, SpeechStarted(at=at * MS), pause(at + 100, due=at + 300), heard(at + 200, FIRST, ""))
    effects = play(machine, SpeechStarted(at=5000 * MS), heard(5300, FIRST, "wait"))
    assert effects[:2] == [(5000 * MS, Contest(FIRST)), (5300 * MS, Hush(FIRST))]


def test_an_agent_that_never_yields_says_all_of_its_reply() -> None:
    machine = speaking(TurnMachine(yielding=Yielding.NEVER))
    play(machine, SpeechStarted(at=1500 * MS), heard(1900, FIRST, "wait a minute"), pause(2500, due=2700))
    effects = play(machine, heard(2600, FIRST, "wait a minute"), AudioEnded(at=4000 * MS, id=FIRST))
    assert effects == [(4000 * MS, EndTurn(FIRST, Outcome.ANSWERED))]


def test_who_still_speaks_when_it_ends_has_the_next_turn() -> None:
    machine = speaking(TurnMachine(yielding=Yielding.NEVER))
    effects = play(machine, SpeechStarted(at=1500 * MS), AudioEnded(at=1900 * MS, id=FIRST))
    assert effects[1:] == [(1900 * MS, EndTurn(FIRST, Outcome.ANSWERED)), (1900 * MS, BeginTurn(2, 1500 * MS))]


def test_an_agent_that_yields_to_words_does_not_stop_for_a_voice() -> None:
    machine = speaking(TurnMachine(yielding=Yielding.TO_WORDS, claims=claims))
    effects = play(machine, SpeechStarted(at=1500 * MS), heard(1900, FIRST, "mhm"), heard(2300, FIRST, "wait"))
    assert effects[:2] == [(1500 * MS, Contest(FIRST)), (2300 * MS, Hush(FIRST))]


@pytest.mark.parametrize("spoke_until", [None, 1580])
def test_speech_at_the_end_of_the_reply_begins_the_next_turn(spoke_until: int | None) -> None:
    machine = speaking(TurnMachine(yielding=Yielding.TO_WORDS))
    pauses = [] if spoke_until is None else [pause(spoke_until, due=1800)]
    effects = play(machine, SpeechStarted(at=1500 * MS), *pauses, AudioEnded(at=1600 * MS, id=FIRST))
    assert [effect for _, effect in effects if isinstance(effect, EndTurn | BeginTurn | Transcribe)] == [
        EndTurn(FIRST, Outcome.ANSWERED),
        BeginTurn(2, 1500 * MS),
        *[Transcribe(DraftId(2, 1)) for _ in pauses],
    ]


def supposed(at: int, text: str, draft: DraftId = FIRST) -> Supposed:
    return Supposed(at=at * MS, id=draft, text=text)


def alike(one: str, other: str) -> bool:
    return one.casefold().strip("?. ") == other.casefold().strip("?. ")


def test_a_reply_to_words_that_were_supposed_waits_until_they_are_known() -> None:
    effects = play(
        TurnMachine(same=alike),
        SpeechStarted(at=0),
        pause(900, due=1100),
        supposed(910, "what time is it"),
        heard(1200, FIRST, "What time is it?"),
    )
    assert effects[2:] == [
        (910 * MS, Draft(FIRST, "what time is it")),
        (1100 * MS, Endpoint(FIRST)),
        (1200 * MS, Commit(FIRST)),
    ]


@pytest.mark.parametrize("at", [1000, 1200])
def test_a_reply_to_other_words_than_were_heard_is_another_attempt(at: int) -> None:
    machine = TurnMachine()
    effects = play(
        machine,
        SpeechStarted(at=0),
        pause(900, due=1300),
        supposed(910, "what time"),
        heard(at, FIRST, "what time is it"),
        until=1301 * MS,
    )
    again = FIRST._replace(attempt=2)
    assert effects[3:] == [
        (at * MS, Discard(FIRST)),
        (at * MS, Draft(again, "what time is it")),
        (1300 * MS, Endpoint(again)),
        (1300 * MS, Commit(again)),
    ]
    assert play(machine, AudioStarted(at=1350 * MS, id=again), AudioEnded(at=2000 * MS, id=again)) == [
        (1350 * MS, TakeFloor(again)),
        (2000 * MS, EndTurn(again, Outcome.ANSWERED)),
    ]


def test_words_that_turned_out_to_be_none_are_not_answered() -> None:
    effects = play(
        TurnMachine(),
        SpeechStarted(at=0),
        pause(900, due=1100),
        supposed(910, "yes"),
        heard(1000, FIRST, ""),
        until=1101 * MS,
    )
    again = FIRST._replace(attempt=2)
    assert effects[3:] == [
        (1000 * MS, Discard(FIRST)),
        (1100 * MS, Endpoint(again)),
        (1100 * MS, EndTurn(again, Outcome.NO_WORDS)),
    ]


def test_nothing_is_supposed_twice_nor_where_replies_wait_for_the_endpoint() -> None:
    events = (SpeechStarted(at=0), pause(900, due=1100), supposed(910, "yes"), supposed(920, "yes please"))
    assert play(TurnMachine(), *events)[2:] == [(910 * MS, Draft(FIRST, "yes"))]
    assert play(TurnMachine(draft_at_pause=False), *events)[2:] == []


def failed(at: int, draft: DraftId) -> ReplyFailed:
    return ReplyFailed(at=at * MS, id=draft, reason="no backend")


@pytest.mark.parametrize("failed_ms", [950, 1150])
@pytest.mark.parametrize("heard_text", ["what time", "what time is it"])
def test_a_draft_that_fails_before_its_words_are_known_is_made_anew_without_excuse(
    failed_ms: int, heard_text: str
) -> None:
    machine, again = TurnMachine(), FIRST._replace(attempt=2)
    effects = play(
        machine,
        SpeechStarted(at=0),
        pause(900, due=1100),
        supposed(910, "what time"),
        failed(failed_ms, FIRST),
        heard(1200, FIRST, heard_text),
    )
    assert effects[2:] == [
        (910 * MS, Draft(FIRST, "what time")),
        (1100 * MS, Endpoint(FIRST)),
        (1200 * MS, Discard(FIRST)),
        (1200 * MS, Draft(again, heard_text)),
        (1200 * MS, Commit(again)),
    ]
    assert play(machine, failed(1300, again)) == [
        (1300 * MS, Discard(again)),
        (1300 * MS, Excuse(FIRST._replace(attempt=3), "no backend")),
    ]


def test_a_draft_that_fails_after_an_opener_is_made_anew() -> None:
    machine = TurnMachine(open_after=0)
    opened(machine)
    effects = play(machine, failed(1100, FIRST), heard(1200, FIRST, "a small latte"))
    assert effects == [
        (1200 * MS, TakeFloor(FIRST)),
        (1200 * MS, Draft(FIRST, "a small latte")),
        (1200 * MS, Commit(FIRST)),
    ]


@pytest.mark.parametrize("not_heard_ms", [1000, 1150])
def test_who_cannot_be_heard_is_asked_again_whatever_was_supposed(not_heard_ms: int) -> None:
    effects = play(
        TurnMachine(),
        SpeechStarted(at=0),
        pause(900, due=1100),
        supposed(910, "what time"),
        NotHeard(at=not_heard_ms * MS, id=FIRST, reason="deaf"),
        until=1200 * MS,
    )
    at = max(1100, not_heard_ms) * MS
    assert effects[3:] == [
        (1100 * MS, Endpoint(FIRST)),
        (at, Discard(FIRST)),
        (at, Excuse(FIRST._replace(attempt=2), "deaf")),
    ]


def opened(machine: TurnMachine) -> list[tuple[Ns, Effect]]:
    """A turn whose endpoint came before its words; its opener is heard."""
    return play(
        machine,
        SpeechStarted(at=0),
        pause(900, due=1000),
        supposed(910, "a small latte"),
        AudioStarted(at=1010 * MS, id=FIRST, opener=True),
    )


@pytest.mark.parametrize("heard_text", ["a small latte", "a small latte please"])
def test_the_reply_goes_on_from_its_opener(heard_text: str) -> None:
    machine = TurnMachine(open_after=0)
    assert opened(machine)[3:] == [(1000 * MS, Endpoint(FIRST)), (1000 * MS, Open(FIRST))]
    assert machine.state is State.OPENING
    redrafted = [] if heard_text == "a small latte" else [(1200 * MS, Draft(FIRST, heard_text))]
    assert play(
        machine,
        heard(1200, FIRST, heard_text),
        AudioStarted(at=1300 * MS, id=FIRST),
        AudioEnded(at=3000 * MS, id=FIRST),
    ) == [
        (1200 * MS, TakeFloor(FIRST)),
        *redrafted,
        (1200 * MS, Commit(FIRST)),
        (3000 * MS, EndTurn(FIRST, Outcome.ANSWERED)),
    ]


def test_an_opener_waits_a_little_for_who_was_only_pausing() -> None:
    machine = TurnMachine(open_after=150 * MS)
    effects = play(machine, SpeechStarted(at=0), pause(900, due=1000), SpeechStarted(at=1100 * MS), until=2000 * MS)
    assert effects[2:] == [(1000 * MS, Endpoint(FIRST)), (1100 * MS, GoOn(1))]
    machine = TurnMachine(open_after=150 * MS)
    effects = play(machine, SpeechStarted(at=0), pause(900, due=1000), heard(1050, FIRST, "yes"), until=2000 * MS)
    assert effects[-2:] == [(1050 * MS, Commit(FIRST)), (1150 * MS, Open(FIRST))]


def test_who_goes_on_after_an_opener_goes_on_with_the_same_turn() -> None:
    machine = TurnMachine(open_after=0)
    opened(machine)
    assert play(machine, SpeechStarted(at=1100 * MS), pause(1500, due=1700)) == [
        (1100 * MS, GoOn(1)),
        (1100 * MS, Discard(FIRST)),
        (1500 * MS, Transcribe(SECOND)),
    ]


def test_a_voice_over_an_opener_is_a_contest_like_any_other_and_the_deadline_stands() -> None:
    machine = TurnMachine(deadline=2000 * MS, open_after=0)
    opened(machine)
    play(machine, heard(1100, FIRST, "a small latte"))
    assert play(machine, SpeechStarted(at=1200 * MS)) == [(1200 * MS, Contest(FIRST)), (1200 * MS, FallSilent(FIRST))]
    effects = play(machine, pause(1400, due=1600), heard(1500, FIRST, ""), until=3001 * MS)
    assert effects == [
        (1400 * MS, Understand(FIRST)),
        (1500 * MS, SpeakOn(FIRST)),
        (3000 * MS, Discard(FIRST)),
        (3000 * MS, Excuse(FIRST._replace(attempt=2), "no reply within the deadline")),
    ]


def test_an_opener_to_what_were_no_words_is_broken_off() -> None:
    machine = TurnMachine(open_after=0)
    opened(machine)
    assert play(machine, heard(1200, FIRST, "")) == [
        (1200 * MS, Hush(FIRST)),
        (1200 * MS, EndTurn(FIRST, Outcome.NO_WORDS)),
    ]


def test_an_opener_that_nothing_follows_is_excused_at_the_deadline() -> None:
    machine = TurnMachine(deadline=2000 * MS, open_after=0)
    opened(machine)
    excuse = FIRST._replace(attempt=2)
    effects = play(machine, AudioStarted(at=3100 * MS, id=excuse), AudioEnded(at=4000 * MS, id=excuse))
    assert effects == [
        (3000 * MS, Discard(FIRST)),
        (3000 * MS, Excuse(excuse, "no reply within the deadline")),
        (3100 * MS, TakeFloor(excuse)),
        (4000 * MS, EndTurn(excuse, Outcome.FAILED)),
    ]


def test_an_opener_is_held_back_on_second_thoughts() -> None:
    machine = TurnMachine(open_after=0)
    play(machine, SpeechStarted(at=0), pause(900, due=1000), until=1001 * MS)
    assert play(machine, EndpointMoved(at=1020 * MS, due=1500 * MS)) == [(1020 * MS, HoldBack(FIRST))]
    assert play(machine, AudioStarted(at=1030 * MS, id=FIRST, opener=True)) == [
        (1030 * MS, SpeakOn(FIRST))
    ]  # it slipped out
    assert machine.state is State.OPENING


def test_a_failed_draft_is_excused_after_the_endpoint_only() -> None:
    excuse = DraftId(1, 1, 2)
    machine = TurnMachine()
    effects = play(
        machine,
        SpeechStarted(at=0),
        pause(900, due=1100),
        heard(1000, FIRST, "hello"),
        ReplyFailed(at=1050 * MS, id=FIRST, reason="no backend"),
        until=1200 * MS,
    )
    assert effects[-3:] == [
        (1100 * MS, Endpoint(FIRST)),
        (1100 * MS, Discard(FIRST)),
        (1100 * MS, Excuse(excuse, "no backend")),
    ]
    effects = play(machine, AudioStarted(at=1200 * MS, id=excuse), AudioEnded(at=2000 * MS, id=excuse))
    assert effects == [(1200 * MS, TakeFloor(excuse)), (2000 * MS, EndTurn(excuse, Outcome.FAILED))]


def test_a_reply_that_stays_away_is_excused_at_the_deadline_and_given_up_at_the_next() -> None:
    machine = TurnMachine(deadline=1000 * MS)
    asked(machine)
    effects = play(machine, until=9000 * MS)
    assert effects == [
        (2100 * MS, Discard(FIRST)),
        (2100 * MS, Excuse(DraftId(1, 1, 2), "no reply within the deadline")),
        (3100 * MS, EndTurn(DraftId(1, 1, 2), Outcome.FAILED)),
    ]


def test_a_reply_that_breaks_off_is_hushed_and_the_next_turn_works() -> None:
    machine = TurnMachine()
    asked(machine)
    effects = play(
        machine,
        AudioStarted(at=1150 * MS, id=FIRST),
        ReplyFailed(at=1400 * MS, id=FIRST, reason="stalled"),
        SpeechStarted(at=5000 * MS),
    )
    assert effects[1:] == [
        (1400 * MS, Hush(FIRST)),
        (1400 * MS, EndTurn(FIRST, Outcome.FAILED)),
        (5000 * MS, BeginTurn(2, 5000 * MS)),
    ]


def test_a_reply_that_breaks_off_while_the_user_speaks_gives_him_the_floor() -> None:
    machine = TurnMachine()
    asked(machine)
    effects = play(
        machine,
        AudioStarted(at=1150 * MS, id=FIRST),
        SpeechStarted(at=1350 * MS),
        ReplyFailed(at=1400 * MS, id=FIRST, reason="stalled"),
    )
    assert effects[1:] == [
        (1350 * MS, Contest(FIRST)),
        (1350 * MS, FallSilent(FIRST)),
        (1400 * MS, Hush(FIRST)),
        (1400 * MS, EndTurn(FIRST, Outcome.FAILED)),
        (1400 * MS, BeginTurn(2, 1350 * MS)),
    ]


def test_ids_are_short_in_a_log() -> None:
    assert (str(FIRST), str(DraftId(1, 2, 2))) == ("1.1", "1.2.2")


def test_what_is_not_live_changes_nothing() -> None:
    machine = TurnMachine()
    asked(machine)
    stale = DraftId(1, 0)
    assert play(machine, heard(1110, stale, "x"), AudioStarted(at=1120 * MS, id=stale)) == []
    assert machine.feed(AudioStarted(at=1150 * MS, id=FIRST)) == [TakeFloor(FIRST)]


def test_an_event_that_the_table_forbids_is_our_own_bug() -> None:
    with pytest.raises(UnexpectedEvent, match="AudioStarted while IDLE"):
        TurnMachine().feed(AudioStarted(at=950 * MS, id=DraftId(0, 0, 0)))


def test_an_early_tick_does_nothing() -> None:
    machine = TurnMachine()
    play(machine, SpeechStarted(at=0), pause(900, due=1100))
    assert machine.tick(1099 * MS) == []
    assert machine.timer() == 1100 * MS


def test_every_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(State)


class World:
    """Plays the session: answers each effect as slowly, badly or well as ``choices`` says."""

    def __init__(self, choices: Iterable[int]) -> None:
        self.effects: list[Effect] = []
        self.queue: list[tuple[Ns, int, Event]] = []
        self._order = itertools.count()
        self._choices = itertools.chain(choices, itertools.repeat(0))
        open_after = (None, 0, 100 * MS)[self.choose(2)]
        self.machine = TurnMachine(claims=claims, deadline=1500 * MS, open_after=open_after)

    def choose(self, most: int) -> int:
        return next(self._choices) % (most + 1)

    def later(self, event: Event) -> None:
        heapq.heappush(self.queue, (event.at, next(self._order), event))

    def run(self, until: Ns) -> None:
        while True:
            due = self.machine.timer()
            at = self.queue[0][0] if self.queue else until
            if due is not None and due < min(at, until):
                self._take(self.machine.tick(due), due)
            elif self.queue and at < until:
                event = heapq.heappop(self.queue)[2]
                self._take(self.machine.feed(event), event.at)
            else:
                return

    def _take(self, effects: list[Effect], now: Ns) -> None:
        self.effects += effects
        for effect in effects:
            match effect:
                case Transcribe(id=draft):
                    if self.choose(3) == 3:
                        self.later(NotHeard(at=now + 90 * MS, id=draft, reason="asr"))
                    else:
                        text = ("", "yes", "two coffees")[self.choose(2)]
                        self.later(Heard(at=now + self.choose(9) * 50 * MS, id=draft, text=text, until=now))
                    if self.choose(2) == 2:
                        text = ("yes", "two coffees")[self.choose(1)]
                        self.later(Supposed(at=now + self.choose(3) * 50 * MS, id=draft, text=text))
                    if self.choose(3) == 3:
                        at = now + self.choose(9) * 50 * MS
                        self.later(EndpointMoved(at=at, due=at + self.choose(9) * 50 * MS))
                case Contest(id=draft) | Understand(id=draft):
                    if self.choose(3) < 3:
                        text = ("", "mhm", "wait")[self.choose(2)]
                        self.later(Heard(at=now + self.choose(9) * 50 * MS, id=draft, text=text, until=now))
                case Draft(id=draft):
                    if self.choose(3) == 3:
                        self.later(ReplyFailed(at=now + self.choose(9) * 50 * MS, id=draft, reason="llm"))
                case Open(id=draft):
                    if self.choose(2) == 2:
                        self.later(AudioStarted(at=now + self.choose(3) * 50 * MS, id=draft, opener=True))
                case Commit(id=draft) | Excuse(id=draft):
                    if self.choose(5) < 5:
                        begins = now + self.choose(9) * 50 * MS
                        self.later(AudioStarted(at=begins, id=draft))
                        self.later(AudioEnded(at=begins + 2000 * MS, id=draft))
                case _:
                    pass


stretches = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 60)), min_size=1, max_size=6)


@settings(max_examples=4 * settings().max_examples)
@given(stretches, st.lists(st.integers(0, 1000), max_size=40))
def test_whatever_happens_every_turn_ends_and_every_draft_has_one_fate(
    speech: list[tuple[int, int]], choices: list[int]
) -> None:
    world, now = World(choices), 0
    for voiced, silent in speech:
        world.later(SpeechStarted(at=now))
        now += voiced * 50 * MS
        world.later(SpeechPaused(at=now, speech_end=now - 50 * MS, endpoint_due=now + 200 * MS))
        now += silent * 50 * MS
    world.run(now + 60_000 * MS)

    begun = [effect.turn for effect in world.effects if isinstance(effect, BeginTurn)]
    ended = [effect.id.turn for effect in world.effects if isinstance(effect, EndTurn)]
    assert begun == list(range(1, len(begun) + 1)) == ended
    assert world.machine.state is State.IDLE
    assert world.machine.timer() is None

    drafts = [effect.id for effect in world.effects if isinstance(effect, Draft)]
    commits = [effect.id for effect in world.effects if isinstance(effect, Commit)]
    held_back = [effect.id for effect in world.effects if isinstance(effect, HoldBack)]
    opened = [effect.id for effect in world.effects if isinstance(effect, Open)]
    assert all(drafts.count(draft) == 1 or draft in opened for draft in drafts)
    assert all(commits.count(draft) - held_back.count(draft) in (0, 1) for draft in drafts)
    assert set(commits) <= set(drafts)
    for draft in drafts:
        discarded = Discard(draft) in world.effects
        closed = any(isinstance(effect, EndTurn) and effect.id == draft for effect in world.effects)
        assert discarded != closed, draft
