"""Who has the floor, and what follows from it. Pure: facts with times in, effects out.

Theory of operation
===================

A conversation is a sequence of turns; a turn is what the user says and our answer to it. The machine knows who
holds the floor::

    IDLE ----------- the user begins ----------> USER
    IDLE ----------- the client asks ----------> ANSWERING   what it wrote is the turn
    USER ----------- the voice pauses ---------> PAUSED      a transcript is asked for, then a reply drafted
    PAUSED --------- the user goes on ---------> USER        the draft is thrown away unheard
    PAUSED --------- the endpoint passes ------> ANSWERING   the draft may be heard as soon as it is there
    ANSWERING ------ an opener is heard -------> OPENING     the words are not known yet; it fits whatever they are
    OPENING -------- the words are known ------> AGENT       the reply goes on from the opener
    OPENING -------- the user goes on ---------> USER        the same turn, reopened: it was no more than a nod
    ANSWERING ------ the user goes on ---------> USER        the same turn, reopened: nothing was heard yet
    ANSWERING ------ the endpoint moves off ---> PAUSED      a second thought: the draft is held back again
    ANSWERING ------ first audible sample -----> AGENT       the point of no return
    AGENT ---------- the reply has ended ------> IDLE
    AGENT ---------- a voice ------------------> CONTESTED   we fall silent at once, and listen
    CONTESTED ------ it was nothing -----------> AGENT       a cough, a "mhm": we go on where we stopped
    CONTESTED ------ it goes on, wordless -----> OVERLAPPED  a noise: we go on, and listen for words
    CONTESTED, OVERLAPPED -- words ------------> USER        a barge-in: we hush, and a new turn begins

A client that decides by itself when it is answered turns :attr:`TurnMachine.answers` off: a turn is then kept when it
is over, and answered only if it was asked for meanwhile. A client may also dismiss a turn, whoever has the floor.

How a contest is decided is told in :mod:`turngap.voice.overlap`.

Each pause makes a new *revision* of the turn: another wording of what the user said. A revision has *attempts* at a
reply: one to the words that were supposed before they were known, one to those that were heard if they are others or
the first one failed, and perhaps an excuse. Whatever comes back carries the id of what it was made for, and what is not
live any more is dropped at the door: late results need no flags.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import Final, TypeAlias

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
    TakeAsked,
    TakeFloor,
    Transcribe,
    Understand,
)
from turngap.voice.endpointing.wording import Claim
from turngap.voice.events import (
    Asked,
    AudioEnded,
    AudioStarted,
    Dismissed,
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
from turngap.voice.overlap import Overlap, Verdict, any_words, no_words


class State(Enum):
    IDLE = auto()
    USER = auto()
    PAUSED = auto()
    ANSWERING = auto()
    OPENING = auto()
    AGENT = auto()
    CONTESTED = auto()
    OVERLAPPED = auto()


class Yielding(Enum):
    """When we give way to a voice over our reply."""

    AT_ONCE = "pause"
    """We fall silent at its onset, and go on if it was nothing."""
    TO_WORDS = "words"
    """We speak on until there are words."""
    NEVER = "never"
    """Who is still speaking when our reply ends has the next turn."""


FALSE_ALARMS: Final = 3
"""A reply that has stopped for nothing so often stops for words only: music in the room must not make it stutter."""


def same_text(one: str, other: str) -> bool:
    """Takes any other wording for other words."""
    return one == other


class TurnMachine:
    """Decides for one conversation. Feed it events in the order in which they happened.

    ``yielding`` says when we give way to a voice over our reply, ``claims`` which words take the floor from us, and
    ``decide`` how long after its onset a voice that is not understood yet may keep us silent. ``deadline`` is how
    long after the endpoint a reply may stay away before we excuse ourselves. With ``draft_at_pause`` a reply is drafted
    as soon as a pause has its words, before it is known whether the user goes on; without, at the endpoint. ``same``
    tells whether a reply to words that were supposed is a reply to those that were heard. ``open_after`` is how long
    after the endpoint an opener is asked for if nothing is heard yet; None is never.
    """

    def __init__(
        self,
        *,
        yielding: Yielding = Yielding.AT_ONCE,
        claims: Callable[[str], Claim] = any_words,
        decide: Ns = 500 * MS,
        deadline: Ns = 5000 * MS,
        draft_at_pause: bool = True,
        same: Callable[[str, str], bool] = same_text,
        open_after: Ns | None = None,
    ) -> None:
        self.state = State.IDLE
        self.answers = True
        """Whether a turn is answered that nobody has asked to be answered."""
        self._wanted = True
        self._all_claims = claims
        self.yield_floor(yielding)
        self._decide = decide
        self._deadline = deadline
        self._draft_at_pause = draft_at_pause
        self._same = same
        self._open_after = open_after
        self._live = DraftId(0, 0, 0)
        self._onset: Ns = 0
        self._endpoint_due: Ns | None = None
        self._reply_due: Ns | None = None
        self._open_due: Ns | None = None
        self._heard: str | None = None
        self._drafted: str | None = None
        """The words that the live draft answers."""
        self._broken = False
        """Whether that draft has failed before its words were known."""
        self._opening = self._excusing = False
        self._failure: str | None = None
        self._alarms = 0
        self._overlap: Overlap | None = None

    def yield_floor(self, yielding: Yielding) -> None:
        """From now on give way so."""
        self._yielding = yielding
        self._claims = no_words if yielding is Yielding.NEVER else self._all_claims

    @property
    def live(self) -> DraftId:
        """What a reply must be made for, to be heard."""
        return self._live

    def feed(self, event: Event) -> list[Effect]:
        """What follows from ``event``. One that is not about the live draft changes nothing."""
        about = Heard | Supposed | NotHeard | AudioStarted | AudioEnded | ReplyFailed
        if isinstance(event, about) and event.id != self._live:
            return []
        try:
            transition = TRANSITIONS[self.state][type(event)]
        except KeyError:
            raise UnexpectedEvent(f"{type(event).__name__} while {self.state.name}") from None
        return list(transition(self, event))

    def timer(self) -> Ns | None:
        """When :meth:`tick` is due next; None if only an event can change anything."""
        contest_due = None if self._overlap is None else self._overlap.due
        dues = [due for due in (self._endpoint_due, self._reply_due, self._open_due, contest_due) if due is not None]
        return min(dues, default=None)

    def tick(self, now: Ns) -> list[Effect]:
        """Let time pass. Early calls do nothing, so a stale timer is harmless."""
        return list(self._tick(now))

    def _tick(self, now: Ns) -> Iterator[Effect]:
        if self._endpoint_due is not None and now >= self._endpoint_due:
            yield from self._endpoint(now)
        if self._open_due is not None and now >= self._open_due:
            self._open_due = None
            self._opening = True
            yield Open(self._live)
        if self._reply_due is not None and now >= self._reply_due:
            yield from self._excuse("no reply within the deadline")
        overlap = self._overlap
        if overlap is not None and overlap.due is not None and now >= overlap.due:
            yield from self._decide_contest(overlap.unheard(now))

    # The user's part.

    def _begin(self, event: SpeechStarted) -> Iterator[Effect]:
        self._onset = event.at
        yield from self._new_turn()

    def _new_turn(self) -> Iterator[Effect]:
        self._live = DraftId(self._live.turn + 1, 0, 1)
        self._heard = self._drafted = None
        self._opening = self._excusing = False
        self._wanted = self.answers
        self._alarms = 0
        self.state = State.USER
        yield BeginTurn(self._live.turn, self._onset)

    def _pause(self, event: SpeechPaused) -> Iterator[Effect]:
        self._live = DraftId(self._live.turn, self._live.revision + 1, 1)
        self._heard = self._failure = self._drafted = None
        self._opening = self._excusing = False
        self._endpoint_due = event.endpoint_due
        self.state = State.PAUSED
        yield Transcribe(self._live)

    def _resume(self, event: SpeechStarted) -> Iterator[Effect]:
        self._endpoint_due = self._reply_due = self._open_due = None
        self.state = State.USER
        yield GoOn(self._live.turn)
        if self._drafted is not None or self._opening:
            self._drafted = None
            self._opening = False
            yield Discard(self._live)

    def _move_endpoint(self, event: EndpointMoved) -> Iterator[Effect]:
        self._endpoint_due = event.due
        yield from ()

    def _think_again(self, event: EndpointMoved) -> Iterator[Effect]:
        if event.due <= event.at or self._excusing:
            return  # it has passed all the same, or we are excusing ourselves already
        self._endpoint_due, self._reply_due, self._open_due = event.due, None, None
        self.state = State.PAUSED
        if self._heard is not None or self._opening:  # else nothing was let out
            yield HoldBack(self._live)

    def _suppose(self, event: Supposed) -> Iterator[Effect]:
        if self._heard is None and self._drafted is None and not self._excusing and self._draft_at_pause:
            self._drafted, self._broken = event.text, False
            yield Draft(self._live, event.text)

    def _draft(self, event: Heard) -> Iterator[Effect]:
        yield from self._know(event.text)
        if event.text and self._draft_at_pause:
            yield from self._draft_known()

    def _know(self, text: str) -> Iterator[Effect]:
        """The words are known; a draft for others is thrown away, and one that has failed."""
        self._heard = text
        if self._drafted is None or (not self._broken and self._same(self._drafted, text)):
            return
        self._drafted = None
        if not self._opening:
            yield Discard(self._live)
            self._live = self._live._replace(attempt=self._live.attempt + 1)

    def _draft_known(self) -> Iterator[Effect]:
        assert self._heard
        if self._drafted is None:
            self._drafted = self._heard
            yield Draft(self._live, self._heard)

    def _hear_late(self, event: Heard) -> Iterator[Effect]:
        yield from self._know(event.text)
        yield from self._commit()

    def _endpoint(self, now: Ns) -> Iterator[Effect]:
        self._endpoint_due = None
        self._reply_due = now + self._deadline
        self._open_due = None if self._open_after is None else now + self._open_after
        self.state = State.ANSWERING
        yield Endpoint(self._live)
        if self._failure is not None:
            yield from self._excuse(self._failure)
        elif self._heard is not None:
            yield from self._commit()

    def _commit(self) -> Iterator[Effect]:
        if not self._heard:
            yield from self._end_turn(Outcome.NO_WORDS)
        elif self._wanted:
            yield from self._draft_known()
            yield Commit(self._live)
        else:
            yield TakeFloor(self._live)
            yield from self._end_turn(Outcome.UNASKED)

    # What the client decides.

    def _ask(self, event: Asked) -> Iterator[Effect]:
        self._onset = event.at
        yield from self._new_turn()
        self._wanted = True
        self._live = self._live._replace(revision=1)
        self._heard = event.text
        yield TakeAsked(self._live, event.text)
        yield from self._endpoint(event.at)

    def _want(self, event: Asked) -> Iterator[Effect]:
        self._wanted = True
        yield from ()

    def _dismiss(self, event: Dismissed) -> Iterator[Effect]:
        """What was said is kept if it was over."""
        if self.state is State.ANSWERING and self._heard and not self._excusing:
            yield TakeFloor(self._live)
        if self._drafted is not None or self._opening:
            yield Discard(self._live)
        yield from self._end_turn(Outcome.INTERRUPTED)

    def _dismiss_heard(self, event: Dismissed) -> Iterator[Effect]:
        yield Hush(self._live)
        yield from self._end_turn(Outcome.INTERRUPTED)

    def _dismiss_contested(self, event: Dismissed) -> Iterator[Effect]:
        yield from self._lose_floor()

    # Our part.

    def _take_floor(self, event: AudioStarted) -> Iterator[Effect]:
        self._endpoint_due = self._open_due = None
        if not event.opener:
            self._reply_due = None  # else it stays for what is to follow
        elif self._heard is None:
            self.state = State.OPENING
            return
        self.state = State.AGENT
        yield TakeFloor(self._live)

    def _go_on_from_opener(self, event: Heard) -> Iterator[Effect]:
        if not event.text:
            yield Hush(self._live)
            yield from self._end_turn(Outcome.NO_WORDS)
            return
        yield from self._know(event.text)
        self.state = State.AGENT
        yield TakeFloor(self._live)
        yield from self._commit()

    def _take_floor_after_all(self, event: AudioStarted) -> Iterator[Effect]:
        """It slipped out while we had second thoughts: heard is heard."""
        yield from self._take_floor(event)
        yield SpeakOn(self._live)

    def _yield_floor(self, event: AudioEnded) -> Iterator[Effect]:
        yield from self._end_turn(self._spoken())

    def _go_on_speaking(self, event: AudioStarted) -> Iterator[Effect]:
        self._reply_due = None
        yield from ()

    def _contest(self, event: SpeechStarted) -> Iterator[Effect]:
        self._onset = event.at
        self._overlap = Overlap(event.at, decide=self._decide, claims=self._claims)
        yield Contest(self._live)
        if self._yielding is Yielding.AT_ONCE and self._alarms < FALSE_ALARMS:
            self._overlap.hurry()
            self.state = State.CONTESTED
            yield FallSilent(self._live)
        else:
            self.state = State.OVERLAPPED

    def _voice_is_gone(self, event: SpeechPaused) -> Iterator[Effect]:
        """Its words are not known yet: what it was is decided when they are, or at the latest when that is due."""
        assert self._overlap is not None
        self._overlap.pause = event
        yield Understand(self._live)

    def _voice_is_back(self, event: SpeechStarted) -> Iterator[Effect]:
        assert self._overlap is not None
        self._overlap.pause = None
        yield GoOn(self._live.turn)

    def _weigh(self, event: Heard) -> Iterator[Effect]:
        assert self._overlap is not None
        yield from self._decide_contest(self._overlap.weigh(event))

    def _decide_contest(self, verdict: Verdict) -> Iterator[Effect]:
        match verdict:
            case Verdict.TAKEN:
                yield from self._lose_floor()
            case Verdict.NOTHING:
                yield from self._keep_floor()
            case Verdict.NOT_YET:
                self.state = State.OVERLAPPED
                yield SpeakOn(self._live)
            case _:
                pass  # undecided: more words will come, or their time will be over

    def _keep_floor(self) -> Iterator[Effect]:
        self._overlap = None
        self._alarms += 1
        if self.state is State.CONTESTED:
            yield SpeakOn(self._live)
        self.state = State.AGENT

    def _lose_floor(self) -> Iterator[Effect]:
        yield Hush(self._live)
        yield from self._give_floor(Outcome.INTERRUPTED)

    def _give_floor(self, outcome: Outcome) -> Iterator[Effect]:
        """What was a contest is the user's turn, which may have paused already."""
        pause = None if self._overlap is None else self._overlap.pause
        yield from self._end_turn(outcome)
        yield from self._new_turn()
        if pause is not None:
            yield from self._pause(pause)

    def _hand_over(self, event: AudioEnded) -> Iterator[Effect]:
        yield from self._give_floor(self._spoken())

    def _spoken(self) -> Outcome:
        return Outcome.FAILED if self._excusing else Outcome.ANSWERED

    # Failures.

    def _remember_failure(self, event: NotHeard | ReplyFailed) -> Iterator[Effect]:
        self._failure = event.reason  # the user may still go on, and then nobody needs to hear of it
        yield from ()

    def _fail_early(self, event: ReplyFailed) -> Iterator[Effect]:
        yield from self._fail_supposed() if self._only_supposed else self._remember_failure(event)

    def _fail(self, event: NotHeard | ReplyFailed) -> Iterator[Effect]:
        yield from self._excuse(event.reason)

    def _fail_late(self, event: ReplyFailed) -> Iterator[Effect]:
        yield from self._fail_supposed() if self._only_supposed else self._fail(event)

    @property
    def _only_supposed(self) -> bool:
        """Whether the words that the live draft answers are not known to be the user's."""
        return self._drafted is not None and self._heard is None and not self._excusing

    def _fail_supposed(self) -> Iterator[Effect]:
        """A draft that nobody may have wanted needs no excuse: the words that are heard get one of their own."""
        self._broken = True
        yield from ()

    def _excuse(self, reason: str) -> Iterator[Effect]:
        self._failure = None
        if self._excusing:
            yield from self._end_turn(Outcome.FAILED)
            return
        if self._drafted is not None or self._opening:
            yield Discard(self._live)
        self._drafted, self._opening, self._excusing = "", False, True
        self._overlap = self._open_due = None
        self.state = State.ANSWERING
        self._live = self._live._replace(attempt=self._live.attempt + 1)
        self._reply_due = None if self._reply_due is None else self._reply_due + self._deadline
        yield Excuse(self._live, reason)

    def _break_off(self, event: ReplyFailed) -> Iterator[Effect]:
        yield Hush(self._live)
        yield from self._end_turn(Outcome.FAILED)

    def _break_off_and_hear(self, event: NotHeard | ReplyFailed) -> Iterator[Effect]:
        yield Hush(self._live)
        yield from self._give_floor(Outcome.FAILED)

    def _end_turn(self, outcome: Outcome) -> Iterator[Effect]:
        ended = self._live
        self._endpoint_due = self._reply_due = self._open_due = self._overlap = None
        self._live = self._live._replace(attempt=0)  # nothing is live: no attempt has this number
        self.state = State.IDLE
        yield EndTurn(ended, outcome)

    def _ignore(self, event: Event) -> Iterator[Effect]:
        yield from ()


_Transition: TypeAlias = Callable[..., Iterable[Effect]]
_M = TurnMachine

TRANSITIONS: Final[dict[State, dict[type[Event], _Transition]]] = {
    State.IDLE: {
        SpeechStarted: _M._begin,
        SpeechPaused: _M._ignore,  # the end of what we decided not to hear
        EndpointMoved: _M._ignore,
        Asked: _M._ask,
        Dismissed: _M._ignore,
    },
    State.USER: {
        SpeechStarted: _M._ignore,  # the onset that took the floor from us, reported again
        SpeechPaused: _M._pause,
        EndpointMoved: _M._ignore,  # of a pause that was none
        Heard: _M._ignore,
        Supposed: _M._ignore,
        NotHeard: _M._ignore,
        ReplyFailed: _M._ignore,
        AudioStarted: _M._ignore,  # discarded in the same breath; the session clears what slipped out
        AudioEnded: _M._ignore,
        Asked: _M._want,
        Dismissed: _M._dismiss,
    },
    State.PAUSED: {
        SpeechStarted: _M._resume,
        SpeechPaused: _M._ignore,
        EndpointMoved: _M._move_endpoint,
        Heard: _M._draft,
        Supposed: _M._suppose,
        NotHeard: _M._remember_failure,
        ReplyFailed: _M._fail_early,
        AudioStarted: _M._take_floor_after_all,
        AudioEnded: _M._yield_floor,
        Asked: _M._want,
        Dismissed: _M._dismiss,
    },
    State.ANSWERING: {
        SpeechStarted: _M._resume,  # nothing was heard: the turn is reopened
        SpeechPaused: _M._ignore,
        EndpointMoved: _M._think_again,
        Heard: _M._hear_late,
        Supposed: _M._suppose,
        NotHeard: _M._fail,
        ReplyFailed: _M._fail_late,
        AudioStarted: _M._take_floor,
        AudioEnded: _M._yield_floor,  # a reply without an audible sample
        Asked: _M._want,
        Dismissed: _M._dismiss,
    },
    State.OPENING: {
        SpeechStarted: _M._resume,
        SpeechPaused: _M._ignore,
        EndpointMoved: _M._ignore,  # heard is heard
        Heard: _M._go_on_from_opener,
        Supposed: _M._suppose,
        NotHeard: _M._fail,
        ReplyFailed: _M._fail_late,
        AudioStarted: _M._ignore,
        AudioEnded: _M._ignore,  # of an attempt that is over
        Asked: _M._want,
        Dismissed: _M._dismiss_heard,
    },
    State.AGENT: {
        SpeechStarted: _M._contest,
        SpeechPaused: _M._ignore,
        EndpointMoved: _M._ignore,
        Heard: _M._ignore,
        Supposed: _M._ignore,
        NotHeard: _M._ignore,
        ReplyFailed: _M._break_off,
        AudioStarted: _M._go_on_speaking,
        AudioEnded: _M._yield_floor,
        Asked: _M._ignore,
        Dismissed: _M._dismiss_heard,
    },
    State.CONTESTED: {
        SpeechStarted: _M._voice_is_back,
        SpeechPaused: _M._voice_is_gone,
        EndpointMoved: _M._ignore,
        Heard: _M._weigh,
        Supposed: _M._ignore,
        NotHeard: _M._break_off_and_hear,
        ReplyFailed: _M._break_off_and_hear,
        AudioStarted: _M._go_on_speaking,
        AudioEnded: _M._hand_over,  # its last samples were on their way
        Asked: _M._ignore,
        Dismissed: _M._dismiss_contested,
    },
    State.OVERLAPPED: {
        SpeechStarted: _M._voice_is_back,
        SpeechPaused: _M._voice_is_gone,
        EndpointMoved: _M._ignore,
        Heard: _M._weigh,
        Supposed: _M._ignore,
        NotHeard: _M._break_off_and_hear,
        ReplyFailed: _M._break_off_and_hear,
        AudioStarted: _M._go_on_speaking,
        AudioEnded: _M._hand_over,
        Asked: _M._ignore,
        Dismissed: _M._dismiss_contested,
    },
}
