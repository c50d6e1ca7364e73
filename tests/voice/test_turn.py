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
    Discard,
    Draft,
    Effect,
    Endpoint,
    EndTurn,
    Excuse,
    GoOn,
    Hush,
    TakeFloor,
    Transcribe,
)
from turngap.voice.events import (
    AudioEnded,
    AudioStarted,
    DraftId,
    Event,
    Heard,
    ReplyFailed,
    SpeechPaused,
    SpeechStarted,
)
from turngap.voice.turn import TRANSITIONS, State, TurnMachine

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


def pause(at: int, *, due: int) -> SpeechPaused:
    return SpeechPaused(at=at * MS, endpoint_due=due * MS)


def heard(at: int, draft: DraftId, text: str) -> Heard:
    return Heard(at=at * MS, id=draft, text=text)


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
    assert effects[-3:] == [(1100 * MS, Endpoint(FIRST)), (1300 * MS, Draft(FIRST, "yes")), (1300 * MS, Commit(FIRST))]


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


def test_a_short_sound_over_the_reply_leaves_the_floor_with_it() -> None:
    machine = TurnMachine(barge_in=300 * MS)
    asked(machine)
    effects = play(
        machine,
        AudioStarted(at=1150 * MS, id=FIRST),
        SpeechStarted(at=1500 * MS),
        pause(1700, due=1900),
        AudioEnded(at=3000 * MS, id=FIRST),
    )
    assert effects[1:] == [(3000 * MS, EndTurn(FIRST, Outcome.ANSWERED))]


def test_speech_that_lasts_over_the_reply_takes_the_floor() -> None:
    machine = TurnMachine(barge_in=300 * MS)
    asked(machine)
    effects = play(machine, AudioStarted(at=1150 * MS, id=FIRST), SpeechStarted(at=1500 * MS), until=2000 * MS)
    assert effects[1:] == [
        (1800 * MS, Hush(FIRST)),
        (1800 * MS, EndTurn(FIRST, Outcome.INTERRUPTED)),
        (1800 * MS, BeginTurn(2, 1500 * MS)),
    ]


def test_speech_at_the_end_of_the_reply_begins_the_next_turn() -> None:
    machine = TurnMachine(barge_in=300 * MS)
    asked(machine)
    effects = play(
        machine,
        AudioStarted(at=1150 * MS, id=FIRST),
        SpeechStarted(at=1500 * MS),
        AudioEnded(at=1600 * MS, id=FIRST),
        pause(2500, due=2700),
    )
    assert effects[1:] == [
        (1600 * MS, EndTurn(FIRST, Outcome.ANSWERED)),
        (1600 * MS, BeginTurn(2, 1500 * MS)),
        (2500 * MS, Transcribe(DraftId(2, 1))),
    ]


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
    machine = TurnMachine()
    play(machine, SpeechStarted(at=0), pause(900, due=1100))
    with pytest.raises(UnexpectedEvent, match="AudioStarted while PAUSED"):
        machine.feed(AudioStarted(at=950 * MS, id=FIRST))


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
        self.machine = TurnMachine(barge_in=300 * MS, deadline=1500 * MS)
        self.effects: list[Effect] = []
        self.queue: list[tuple[Ns, int, Event]] = []
        self._order = itertools.count()
        self._choices = itertools.chain(choices, itertools.repeat(0))

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
                        self.later(ReplyFailed(at=now + 90 * MS, id=draft, reason="asr"))
                    else:
                        text = ("", "yes", "two coffees")[self.choose(2)]
                        self.later(Heard(at=now + self.choose(9) * 50 * MS, id=draft, text=text))
                case Draft(id=draft):
                    if self.choose(3) == 3:
                        self.later(ReplyFailed(at=now + self.choose(9) * 50 * MS, id=draft, reason="llm"))
                case Commit(id=draft) | Excuse(id=draft):
                    if self.choose(5) < 5:
                        begins = now + self.choose(9) * 50 * MS
                        self.later(AudioStarted(at=begins, id=draft))
                        self.later(AudioEnded(at=begins + 2000 * MS, id=draft))
                case _:
                    pass


stretches = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 60)), min_size=1, max_size=6)


@settings(max_examples=2 * settings().max_examples)
@given(stretches, st.lists(st.integers(0, 1000), max_size=40))
def test_whatever_happens_every_turn_ends_and_every_draft_has_one_fate(
    speech: list[tuple[int, int]], choices: list[int]
) -> None:
    world, now = World(choices), 0
    for voiced, silent in speech:
        world.later(SpeechStarted(at=now))
        now += voiced * 50 * MS
        world.later(SpeechPaused(at=now, endpoint_due=now + 200 * MS))
        now += silent * 50 * MS
    world.run(now + 60_000 * MS)

    begun = [effect.turn for effect in world.effects if isinstance(effect, BeginTurn)]
    ended = [effect.id.turn for effect in world.effects if isinstance(effect, EndTurn)]
    assert begun == list(range(1, len(begun) + 1)) == ended
    assert world.machine.state is State.IDLE
    assert world.machine.timer() is None

    drafts = [effect.id for effect in world.effects if isinstance(effect, Draft)]
    commits = [effect.id for effect in world.effects if isinstance(effect, Commit)]
    assert len(set(drafts)) == len(drafts)
    assert len(set(commits)) == len(commits)
    assert set(commits) <= set(drafts)
    for draft in drafts:
        discarded = Discard(draft) in world.effects
        closed = any(isinstance(effect, EndTurn) and effect.id == draft for effect in world.effects)
        assert discarded != closed, draft
