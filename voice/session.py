"""One conversation, from the first packet to the last: the shell around the turn machine.

It performs what the machine asks for and tells it what came of it. Three kinds of tasks live in its task group:
hearing (packets to onsets and pauses), deciding (events to effects, one at a time), and work for one id: what
:mod:`turngap.voice.listening` does for the user's words, what :mod:`turngap.voice.answering` does for a reply, and a
question to the turn-end model. Nothing here decides who has the floor.
"""

import asyncio
from typing import Any, NamedTuple, assert_never

from turngap.budget.clock import MS, Clock, Ns
from turngap.budget.errors import StageError
from turngap.budget.ledger import Outcome
from turngap.budget.marks import Mark, Span, Stage
from turngap.voice.answering import Answering
from turngap.voice.asr.incremental import Pacing, samples
from turngap.voice.book import TurnBook
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
from turngap.voice.endpointing.protocol import (
    VAD_RATE_HZ,
    AgentSaid,
    AgentSpeaks,
    Ask,
    Evidence,
    Fading,
    Frame,
    Onset,
    Pause,
    Reconsidered,
    TurnEnd,
    TurnEndModel,
    Words,
)
from turngap.voice.events import (
    Asked,
    Dismissed,
    DraftId,
    EndpointMoved,
    Event,
    Heard,
    NotHeard,
    SpeechPaused,
    SpeechStarted,
    Supposed,
)
from turngap.voice.hearing import Hearing, Noticed
from turngap.voice.keeping import Forgetting, Keeping
from turngap.voice.listening import Listened, Listening
from turngap.voice.manner import Manner, Parts
from turngap.voice.protocols.door import (
    Ask as AskFor,
)
from turngap.voice.protocols.door import (
    AskAside,
    Cancel,
    ClientGone,
    CommitTurn,
    Configure,
    CutShort,
    Door,
    DropTurn,
    Forget,
    Order,
    Packet,
    VoiceBegan,
    VoiceEnded,
    Wish,
    Write,
)
from turngap.voice.turn import State, TurnMachine

PREROLL_SAMPLES = VAD_RATE_HZ * 3 // 10
"""The detector is sure only after some frames, and a soft first consonant comes before them."""

STARVED: Ns = 1000 * MS
"""No packet for so long is no jitter any more."""

IDLE_MEMORY_SAMPLES = VAD_RATE_HZ * 2

JUDGED_SAMPLES = VAD_RATE_HZ * 8
"""What a turn-end model is given, at most."""

FORGETTING = Forgetting()

KEPT_S = 1.0
"""For so long a turn's report waits until the turn is kept, which takes a millisecond on a disk that is well."""

CONTEST = Pacing(voiced=samples(0.25), settled=samples(0.06), rest=0.5)
"""A voice over our reply has half a second to be understood in: its first pass begins after a syllable or two."""


class Wait(NamedTuple):
    """What the present endpoint waits for, since when, and the mark that released this latest thought about it."""

    reason: str
    released_by: Mark
    since: Ns
    before: str = ""
    """What it waited for until then."""


class Session:
    """One conversation. :meth:`run` returns when it is over; nothing of it is left then."""

    def __init__(
        self, door: Door, parts: Parts, manner: Manner, clock: Clock, *, keeping: Keeping = FORGETTING
    ) -> None:
        self._door = door
        self._keeping = keeping
        self._policy = parts.endpointing
        self._turn_end = parts.turn_end
        self._budget = manner.budget
        self._clock = clock
        self._machine = TurnMachine(
            yielding=manner.yielding,
            claims=manner.claims,
            decide=manner.decide,
            deadline=manner.deadline,
            draft_at_pause=manner.speculation.at_pause,
            same=manner.speculation.same,
            open_after=manner.speculation.open_after if manner.speculation.openers is not None else None,
        )
        self._supposes = manner.speculation.supposes
        self._hearing = Hearing(door.rate_hz, parts.activity, parts.endpointing, clock, canceller=parts.canceller)
        self._tasks = asyncio.TaskGroup()
        spoken = self._hearing.overhear(door)
        self._answering = Answering(spoken, parts, manner, clock, tasks=self._tasks, tell=self._tell)
        self._listening = Listening(
            parts.recognizer, self._hearing.log, tasks=self._tasks, tell=self._listened, fail=self._not_heard
        )
        # Events are few, some for each pause and each reply, and deciding takes microseconds: it cannot fill up.
        self._inbox: asyncio.Queue[tuple[Event, Noticed | None] | Wish | None] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._leaving = asyncio.Event()
        self._idle.set()
        self._onset = 0
        self._announced = 0
        """The turn of which the client knows that the user has begun it."""
        self._asking = self._manual = False
        self._contested = 0
        self._paused: Noticed | None = None
        self._committed = 0
        """Up to this sample the client has committed what was said."""
        self._wait = Wait("", Mark.PAUSE, 0)
        self._book: TurnBook | None = None

    async def run(self) -> None:
        """Converse until the client leaves or has no more to say."""
        try:
            async with self._tasks:
                self._answering.prepare()
                self._tasks.create_task(self._decide())
                await self._attend()
                await self._idle.wait()
                await self._answering.attend()  # there will be no turn to foresee
                self._inbox.put_nowait(None)
        except* ClientGone:
            pass
        finally:
            self._abandon()
            await self._answering.aclose()

    def leave(self) -> None:
        """End when the present turn does."""
        self._leaving.set()

    async def _attend(self) -> None:
        """Hear the client out, or leave it between two turns."""
        hearing = self._tasks.create_task(self._hear())
        leaving = self._tasks.create_task(self._leave())
        await asyncio.wait({hearing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (hearing, leaving):
            task.cancel()

    async def _leave(self) -> None:
        await self._leaving.wait()
        await self._idle.wait()

    # Hearing.

    async def _hear(self) -> None:
        while (packet := await self._next_packet()) is not None:
            if not isinstance(packet, Packet):
                await self._wish(packet)
                continue
            async for listened in self._hearing.feed(packet.samples, packet.at):
                self._listen(listened.frame)
                for noticed in listened.noticed:
                    self._notice(noticed)
        self._end_of_audio()

    async def _next_packet(self) -> Packet | Wish | None:
        """The next packet. A client that stops sending in the middle of a word has ended its turn."""
        while True:
            try:
                async with asyncio.timeout(STARVED / 1e9):
                    return await self._door.packet()
            except TimeoutError:
                self._end_of_audio()

    def _end_of_audio(self) -> None:
        if self._manual:
            return  # who holds a key down may be silent for as long as it likes
        for floor in self._policy.end():
            self._notice(Noticed(floor=floor))

    def _listen(self, frame: Frame) -> None:
        """Keep the audio that is needed, and the running hypothesis fresh."""
        log = self._hearing.log
        if self._book is None:
            log.forget_before(log.end - IDLE_MEMORY_SAMPLES)
        else:
            self._listening.hear(frame, self._machine.live)

    def _notice(self, noticed: Noticed, released_by: Mark = Mark.PAUSE) -> None:
        match noticed.floor:
            case Onset(start=start):
                self._idle.clear()
                self._inbox.put_nowait((SpeechStarted(at=self._hearing.moment(start)), noticed))
            case Pause(speech_end=speech_end, endpoint=endpoint, reason=reason):
                self._wait = Wait(reason, Mark.PAUSE, self._clock())
                end, due = self._hearing.moment(speech_end), self._hearing.moment(endpoint)
                event = SpeechPaused(at=self._clock(), speech_end=end, endpoint_due=due)
                self._inbox.put_nowait((event, noticed))
            case Reconsidered(endpoint=endpoint, reason=reason):
                self._wait = Wait(reason, released_by, self._clock(), before=self._wait.reason)
                self._tell(EndpointMoved(at=self._clock(), due=self._hearing.moment(endpoint)))
            case Fading():
                if self._book is not None:
                    self._listening.fading()
            case Ask(end=end):
                if self._turn_end is not None and self._machine.state in (State.USER, State.PAUSED):
                    self._tasks.create_task(self._judge(self._turn_end, end))

    def _consider(self, evidence: Evidence, released_by: Mark = Mark.PAUSE) -> None:
        """Tell the policy, and see what follows."""
        for floor in self._policy.told(evidence):
            self._notice(Noticed(floor=floor), released_by)

    async def _judge(self, model: TurnEndModel, end: int) -> None:
        try:
            probability, span = await model.judge(self._hearing.log.slice(end - JUDGED_SAMPLES, end))
        except StageError as error:  # silence and words decide without it
            await self._answering.report(error)
            return
        if self._book is not None and self._machine.state in (State.PAUSED, State.ANSWERING):
            self._book.ledger.span(span, revision=self._machine.live.revision)
        self._consider(TurnEnd(end=end, probability=probability))

    async def _listened(self, listened: Listened) -> None:
        """What follows from a pass of the recogniser."""
        hypothesis, draft, book = listened.hypothesis, listened.draft, self._book
        if book is None:
            return
        until = self._hearing.moment(listened.end)
        if self._machine.state in (State.CONTESTED, State.OVERLAPPED):
            book.spoken_over = hypothesis.text
            own = self._answering.says(hypothesis.words)  # our voice, out of the user's loudspeaker
            self._tell(Heard(at=self._clock(), id=draft, text="" if own else hypothesis.text, until=until))
            return
        if hypothesis.final and draft == self._machine.live:
            book.transcribed(draft, hypothesis.text, at=self._clock(), spans=listened.spans)
            self._tell(Heard(at=self._clock(), id=draft, text=hypothesis.text, until=until))
            self._consider(Words(end=listened.end, text=hypothesis.text), Mark.TRANSCRIPT)
        else:
            # The last word may still change; the others are what the next prompt will most likely begin with. Waiting
            # for the stable ones would prefill half of the words of a read sentence by its end, this does 81 %.
            self._answering.prepare(" ".join(hypothesis.words[:-1]), book)
        await self._door.hypothesis(book.turn, " ".join(hypothesis.stable), " ".join(hypothesis.unstable))

    async def _not_heard(self, draft: DraftId | None, error: StageError) -> None:
        """A pass of the recogniser has failed, and ``draft`` waits for its words, if any does."""
        await self._answering.report(error)
        if draft is not None:
            self._tell(NotHeard(at=self._clock(), id=draft, reason=str(error)))

    # What the client wants.

    async def _wish(self, wish: Wish) -> None:
        """Have ``wish`` granted between what was noticed before and after it."""
        if isinstance(wish, AskAside):
            self._tasks.create_task(self._answering.ask_aside(wish))
            return
        if isinstance(wish, CutShort):
            await self._answering.cut_short(wish.turn, wish.samples)
            return
        self._idle.clear()
        self._inbox.put_nowait(wish)

    def _grant(self, wish: Wish) -> list[Effect]:
        machine, now = self._machine, self._clock()
        match wish:
            case Configure():
                self._configure(wish)
            case Write():
                self._answering.write(wish)
            case Forget(key=key):
                self._answering.forget(key)
            case CommitTurn():
                return self._commit(now)
            case DropTurn() if machine.state in (State.USER, State.PAUSED):
                return machine.feed(Dismissed(at=now))
            case Cancel():
                return machine.feed(Dismissed(at=now))
            case AskFor(order=order):
                return self._ask(order, now)
            case _:
                pass
        return []

    def _configure(self, wanted: Configure) -> None:
        self._answering.configure(wanted.order)
        self._machine.answers = wanted.answers
        self._manual = wanted.manual
        self._machine.yield_floor(wanted.yielding)
        if wanted.endpointing is not None:
            self._policy = wanted.endpointing
            self._hearing.follow(wanted.endpointing)

    def _commit(self, now: Ns) -> list[Effect]:
        """The turn is over here, whatever the policy thinks."""
        state, end = self._machine.state, self._hearing.log.end
        if state is State.PAUSED:
            self._wait = Wait("commit", Mark.PAUSE, now, before=self._wait.reason)
            return self._machine.feed(EndpointMoved(at=now, due=now))
        if state is State.IDLE:
            self._notice(Noticed(floor=Onset(start=self._committed)))
        if state in (State.IDLE, State.USER):
            pauses = [floor for floor in self._policy.end() if isinstance(floor, Pause)]
            self._notice(Noticed(floor=Pause(speech_end=pauses[0].speech_end if pauses else end, endpoint=end)))
        self._committed = end
        return []

    def _ask(self, order: Order, now: Ns) -> list[Effect]:
        self._answering.order(order)
        if self._book is not None:
            self._book.ordered = True
        else:
            self._onset = self._hearing.log.end
        self._asking = self._machine.state is State.IDLE
        return self._machine.feed(Asked(at=now, text=self._answering.last_words))

    def _take_asked(self, draft: DraftId, text: str, book: TurnBook) -> None:
        self._asking = False
        book.take_asked(draft, text, at=self._clock())
        self._wait = Wait("asked", Mark.TRANSCRIPT, self._clock())

    async def _announce(self, turn: int) -> None:
        self._announced = turn
        await self._door.tell(VoiceBegan(turn, self._onset * 1000 // VAD_RATE_HZ))

    # Deciding.

    def _tell(self, event: Event) -> None:
        self._inbox.put_nowait((event, None))

    async def _decide(self) -> None:
        machine = self._machine
        while True:
            due = machine.timer()
            wait = None if due is None else max(0, due - self._clock()) / 1e9
            try:
                async with asyncio.timeout(wait):
                    item = await self._inbox.get()
            except TimeoutError:
                effects = machine.tick(self._clock())
            else:
                if item is None:
                    return
                effects = self._take(*item) if isinstance(item, tuple) else self._grant(item)
            if effects and isinstance(effects[0], Hush):
                for begun in (effect for effect in effects if isinstance(effect, BeginTurn)):
                    await self._announce(begun.turn)  # before the reply ends, so that the client knows why
            for effect in effects:
                await self._perform(effect, due)
            if machine.state is State.IDLE and self._book is None and self._inbox.empty():
                self._idle.set()

    def _take(self, event: Event, noticed: Noticed | None) -> list[Effect]:
        if noticed is not None and isinstance(noticed.floor, Onset):
            self._onset = noticed.floor.start
        elif noticed is not None:
            self._paused = noticed
        return self._machine.feed(event)

    async def _perform(self, effect: Effect, due: Ns | None) -> None:
        if isinstance(effect, BeginTurn):
            self._begin(effect.turn)
            await self._answering.attend()
            if not self._asking and self._announced < effect.turn:
                await self._announce(effect.turn)
            return
        book, answering = self._book, self._answering
        assert book is not None
        match effect:
            case GoOn(turn=turn):
                self._listening.resumed()
                if self._announced < turn:
                    await self._announce(turn)
            case TakeAsked(id=draft, text=text):
                self._take_asked(draft, text, book)
            case Transcribe(id=draft):
                await self._transcribe(draft, book)
            case Draft(id=draft, text=text):
                await answering.draft(draft, text, book)
            case Endpoint(id=draft):
                self._endpoint(draft, due, book)
                if draft.revision != book.asked:
                    end = self._pause().speech_end
                    await self._door.tell(VoiceEnded(draft.turn, end * 1000 // VAD_RATE_HZ))
            case Open(id=draft):
                await answering.open(draft, self._listening.hypothesis.text, book)
            case Commit(id=draft):
                await answering.follow_order(draft, book)
                answering.commit(draft, book)
            case HoldBack(id=draft):
                await answering.hold_back()
                book.withdraw()
            case TakeFloor(id=draft):
                self._consider(AgentSpeaks(speaks=True))
                await answering.take_floor(draft, book.texts.get(draft.revision, ""), book)
            case Contest():
                self._contest()
            case Understand(id=draft):
                await self._listening.paused(draft, speech_end=self._pause().speech_end)
            case FallSilent():
                await answering.fall_silent()
            case SpeakOn(id=draft):
                answering.speak_on(draft, book)
            case Discard() | Hush():
                await answering.silence(book)
            case Excuse(id=draft, reason=reason):
                await answering.excuse(draft, reason, book)
            case EndTurn(id=draft, outcome=outcome):
                await self._end(draft, outcome, book)
            case _:
                assert_never(effect)

    def _begin(self, turn: int) -> None:
        start = max(0, self._onset - PREROLL_SAMPLES)
        if start != self._contested:  # else it has been listened to already
            self._hearing.log.forget_before(start)
            self._listening.begin(start)
        self._book = TurnBook(turn, self._onset)
        self._keeping.began(turn)

    def _contest(self) -> None:
        self._contested = max(0, self._onset - PREROLL_SAMPLES)
        self._hearing.log.forget_before(self._contested)
        self._listening.begin(self._contested, CONTEST)

    async def _transcribe(self, draft: DraftId, book: TurnBook) -> None:
        pause = self._pause()
        speech_end_at = self._hearing.moment(pause.speech_end)
        spans = () if self._paused is None else self._paused.spans
        book.paused(draft, pause, speech_end_at=speech_end_at, at=self._clock(), spans=spans)
        await self._listening.paused(draft, speech_end=pause.speech_end)
        running = self._listening.running(pause.speech_end)
        if running is not None and self._supposes(running) and self._answering.may_suppose():
            self._tell(Supposed(at=self._clock(), id=draft, text=" ".join(running.words)))

    def _pause(self) -> Pause:
        assert self._paused is not None
        assert isinstance(self._paused.floor, Pause)
        return self._paused.floor

    def _endpoint(self, draft: DraftId, due: Ns | None, book: TurnBook) -> None:
        now, wait = self._clock(), self._wait
        cause = book.ledger.view(draft.revision).marks.get(wait.released_by)
        assert cause is not None
        # A thought that moves the endpoint into the past is what it has waited for.
        until, reason = (due, wait.reason) if due is not None and due > wait.since else (wait.since, wait.before)
        end = max(cause.at, min(until, now))
        waited = Span(stage=Stage.ENDPOINTING, start=cause.at, end=end, what=reason or wait.reason)
        book.decided(draft, now, waited, released_by=cause.mark)

    async def _end(self, draft: DraftId, outcome: Outcome, book: TurnBook) -> None:
        self._book = None
        self._consider(AgentSpeaks(speaks=False))
        await self._answering.end(book)
        book.close(draft.revision, outcome)
        if book.heard:
            self._consider(AgentSaid(text=book.heard))
            await self._door.transcript("agent", book.heard)
        report = book.report(self._budget)
        kept = self._keeping.ended(report)
        if kept is None:
            await self._door.turn(report)
        else:  # what a client was told is over must not be lost any more; meanwhile the conversation goes on
            self._tasks.create_task(self._tell_kept(report, kept))

    async def _tell_kept(self, report: dict[str, Any], kept: "asyncio.Future[bool]") -> None:
        await asyncio.wait([kept], timeout=KEPT_S)
        await self._door.turn(report)

    def _abandon(self) -> None:
        if self._book is not None:
            self._book.close(self._machine.live.revision, Outcome.ABANDONED)
            self._keeping.ended(self._book.report(self._budget))
            self._book = None
