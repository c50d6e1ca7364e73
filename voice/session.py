"""One conversation, from the first packet to the last: the shell around the turn machine.

It performs what the machine asks for and tells it what came of it. Three kinds of tasks live in its task group:
hearing (packets to onsets and pauses), deciding (events to effects, one at a time), and work for one id (a pass of
the recogniser, a reply, its playing). Nothing here decides who has the floor.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from turngap.budget.allowance import DEFAULT, Budget
from turngap.budget.clock import MS, Clock, Ns
from turngap.budget.errors import StageError
from turngap.budget.ledger import Outcome
from turngap.budget.marks import Mark, Span, Stage
from turngap.llm.history import History
from turngap.llm.protocol import Backend, Limits
from turngap.voice.asr.incremental import PassRequest, Transcription
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.audio.level import SILENCE_DB
from turngap.voice.book import TurnBook
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
from turngap.voice.endpointing.protocol import VAD_RATE_HZ, Endpointing, Frame, Onset, Pause, VoiceActivity
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
from turngap.voice.hearing import Hearing, Noticed
from turngap.voice.playout import Playout
from turngap.voice.protocols.door import ClientGone, Door, Packet
from turngap.voice.reply import Reply
from turngap.voice.tts.protocol import Synthesizer
from turngap.voice.turn import State, TurnMachine

logger = logging.getLogger(__name__)

PREROLL_SAMPLES = VAD_RATE_HZ * 3 // 10
"""The detector is sure only after some frames, and a soft first consonant comes before them."""

VOICED = 0.5
"""From this probability on a frame counts as voiced for the pace of the recogniser."""

STARVED: Ns = 1000 * MS
"""No packet for so long is no jitter any more."""

IDLE_MEMORY_SAMPLES = VAD_RATE_HZ * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the agent behaves in a conversation."""

    system: str
    budget: Budget = DEFAULT
    limits: Limits = field(default_factory=Limits)
    barge_in: Ns = 300 * MS
    deadline: Ns = 5000 * MS
    """From the endpoint: how long a reply may stay away."""
    stall: Ns = 3000 * MS
    """How long the backend may be silent, before or after its first token."""
    draft_at_pause: bool = True
    excuse: str = "Sorry, something went wrong. Please say that again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a conversation is made of; models are shared with other conversations."""

    activity: VoiceActivity
    endpointing: Endpointing
    recognizer: Recognizer
    backend: Backend
    synthesizer: Synthesizer


class Session:
    """One conversation. :meth:`run` returns when it is over; nothing of it is left then."""

    def __init__(self, door: Door, parts: Parts, manner: Manner, clock: Clock) -> None:
        self._door = door
        self._parts = parts
        self._manner = manner
        self._clock = clock
        self._machine = TurnMachine(
            barge_in=manner.barge_in, deadline=manner.deadline, draft_at_pause=manner.draft_at_pause
        )
        self._hearing = Hearing(door.rate_hz, parts.activity, parts.endpointing, clock)
        self._transcription = Transcription(0)
        self._listener = parts.recognizer.listen()
        self._history = History(manner.system)
        self._conversation = parts.backend.converse()
        # Events are few, some for each pause and each reply, and deciding takes microseconds: it cannot fill up.
        self._inbox: asyncio.Queue[tuple[Event, Noticed | None] | None] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._idle.set()
        self._onset = 0
        self._book: TurnBook | None = None
        self._reply: Reply | None = None
        self._playout: Playout | None = None
        self._making: asyncio.Task[None] | None = None
        self._conversing = asyncio.Lock()
        self._playing: asyncio.Task[None] | None = None
        self._passing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Converse until the client leaves or has no more to say."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                self._prepare()
                self._tasks.create_task(self._decide())
                await self._hear()
                await self._idle.wait()
                self._inbox.put_nowait(None)
        except* ClientGone:
            pass
        finally:
            self._abandon()
            await self._conversation.aclose()

    # Hearing.

    async def _hear(self) -> None:
        while (packet := await self._next_packet()) is not None:
            async for listened in self._hearing.feed(packet.samples, packet.at):
                self._listen(listened.frame)
                for noticed in listened.noticed:
                    self._notice(noticed)
        self._end_of_audio()

    async def _next_packet(self) -> Packet | None:
        """The next packet. A client that stops sending in the middle of a word has ended its turn."""
        while True:
            try:
                async with asyncio.timeout(STARVED / 1e9):
                    return await self._door.packet()
            except TimeoutError:
                self._end_of_audio()

    def _end_of_audio(self) -> None:
        for floor in self._parts.endpointing.end():
            self._notice(Noticed(floor=floor))

    def _notice(self, noticed: Noticed) -> None:
        event: Event
        match noticed.floor:
            case Onset(start=start):
                self._idle.clear()
                event = SpeechStarted(at=self._hearing.moment(start))
            case Pause(endpoint=endpoint):
                event = SpeechPaused(at=self._clock(), endpoint_due=self._hearing.moment(endpoint))
        self._inbox.put_nowait((event, noticed))

    def _listen(self, frame: Frame) -> None:
        """Keep the audio that is needed, and the running hypothesis fresh."""
        log = self._hearing.log
        if self._book is None:
            log.forget_before(log.end - IDLE_MEMORY_SAMPLES)
            return
        level = max(frame.levels_db, default=SILENCE_DB)
        self._transcription.heard(frame.end, voiced=frame.probability >= VOICED, level_db=level)
        self._transcribe_next()

    def _transcribe_next(self) -> None:
        """Start the pass that is wanted now, if one is."""
        request = self._transcription.wants()
        if request is None:
            return
        if request.supersedes is not None and self._passing is not None:
            self._passing.cancel()
        self._passing = self._tasks.create_task(
            self._pass(request, self._machine.live, self._transcription, self._book)
        )

    async def _pass(
        self, request: PassRequest, draft: DraftId, transcription: Transcription, book: TurnBook | None
    ) -> None:
        """One pass of the recogniser, and what follows from its words."""
        try:
            audio = self._hearing.log.slice(request.start, request.end)
            heard = await self._listener.decode(audio, start=request.start, draft=request.draft, prompt=request.prompt)
        except StageError as error:
            transcription.drop(request)
            await self._fail(draft if request.final else None, error)
            return
        hypothesis = transcription.take(request, heard)
        if hypothesis is None or book is None or book is not self._book:
            return  # nobody waits for it any more
        if hypothesis.final and draft == self._machine.live:
            book.transcribed(draft, hypothesis.text, at=self._clock(), spans=heard.spans)
            self._tell(Heard(at=self._clock(), id=draft, text=hypothesis.text))
        else:
            # The last word may still change; the others are what the next prompt will most likely begin with.
            self._prepare(" ".join(hypothesis.words[:-1]))
            self._transcribe_next()
        await self._door.hypothesis(book.turn, " ".join(hypothesis.stable), " ".join(hypothesis.unstable))

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
                effects, noticed = machine.tick(self._clock()), None
            else:
                if item is None:
                    return
                event, noticed = item
                if noticed is not None and isinstance(noticed.floor, Onset):
                    self._onset = noticed.floor.start
                effects = machine.feed(event)
            for effect in effects:
                await self._perform(effect, due, noticed)
            if machine.state is State.IDLE and self._book is None and self._inbox.empty():
                self._idle.set()

    async def _perform(self, effect: Effect, due: Ns | None, noticed: Noticed | None) -> None:
        match effect:
            case BeginTurn(turn=turn):
                self._begin(turn)
            case GoOn():
                self._transcription.resumed()
            case Transcribe(id=draft):
                self._transcribe(draft, noticed)
            case Draft(id=draft, text=text):
                self._draft(draft, text)
            case Endpoint(id=draft):
                self._endpoint(draft, due)
            case Commit(id=draft):
                self._commit(draft)
            case TakeFloor(id=draft):
                await self._take_floor(draft)
            case Discard():
                await self._silence()
            case Hush():
                await self._silence()
            case Excuse(id=draft, reason=reason):
                self._excuse(draft, reason)
            case EndTurn(id=draft, outcome=outcome):
                await self._end(draft, outcome)
            case _:
                assert_never(effect)

    def _begin(self, turn: int) -> None:
        start = max(0, self._onset - PREROLL_SAMPLES)
        self._hearing.log.forget_before(start)
        self._transcription = Transcription(start)
        self._listener = self._parts.recognizer.listen()
        self._book = TurnBook(turn, self._onset)

    def _transcribe(self, draft: DraftId, noticed: Noticed | None) -> None:
        assert self._book is not None
        assert noticed is not None
        assert isinstance(noticed.floor, Pause)
        speech_end_at = self._hearing.moment(noticed.floor.speech_end)
        self._book.paused(draft, noticed.floor, speech_end_at=speech_end_at, at=self._clock(), spans=noticed.spans)
        self._transcription.paused(self._hearing.log.end)
        self._transcribe_next()

    def _endpoint(self, draft: DraftId, due: Ns | None) -> None:
        assert self._book is not None
        now = self._clock()
        paused = self._book.ledger.view(draft.revision).marks[Mark.PAUSE].at
        waited = Span(stage=Stage.ENDPOINTING, start=paused, end=max(paused, min(due or now, now)), what="hangover")
        self._book.ledger.span(waited, revision=draft.revision)
        self._book.ledger.mark(Mark.ENDPOINT, now, revision=draft.revision, released_by=Mark.PAUSE)

    # Replying.

    def _draft(self, draft: DraftId, text: str) -> None:
        assert self._book is not None
        reply = self._reply = Reply(draft, self._book.ledger, self._parts.synthesizer, self._clock)
        messages = self._history.messages_with(text)
        answer = partial(
            reply.run,
            self._conversation,
            messages,
            limits=self._manner.limits,
            stall=self._manner.stall,
            asked_at=self._clock(),
        )
        self._making = self._tasks.create_task(self._make(draft, answer))

    def _prepare(self, words: str = "") -> None:
        """Let the backend get ready for what the next prompt begins with: the history, and words heard so far."""
        messages = self._history.messages_with(words)
        self._tasks.create_task(self._make(None, partial(self._conversation.prepare, messages)))

    async def _make(self, draft: DraftId | None, work: Callable[[], Awaitable[None]]) -> None:
        """Do ``work`` when the one before is done: a conversation with the backend is one thing at a time."""
        try:
            async with self._conversing:
                await work()
        except StageError as error:
            await self._fail(draft, error)
        except Exception as error:  # a bug in a stage costs its turn, not the conversation
            logger.exception("unexpected error in turn %s", draft)
            await self._fail(draft, StageError(Stage.DISPATCH, f"unexpected {type(error).__name__}"))

    async def _fail(self, draft: DraftId | None, error: StageError) -> None:
        await self._door.error(f"{error.stage.value}_failed", error.message, error.remedy)
        if draft is not None:
            self._tell(ReplyFailed(at=self._clock(), id=draft, reason=str(error)))

    def _excuse(self, draft: DraftId, reason: str) -> None:
        assert self._book is not None
        self._book.failure = reason
        reply = self._reply = Reply(draft, self._book.ledger, self._parts.synthesizer, self._clock)
        self._making = self._tasks.create_task(self._make(draft, partial(reply.say, self._manner.excuse)))
        self._commit(draft)

    def _commit(self, draft: DraftId) -> None:
        reply, book = self._reply, self._book
        assert reply is not None
        assert book is not None
        self._playout = Playout(
            reply, rate_hz=self._door.rate_hz, from_hz=self._parts.synthesizer.rate_hz, clock=self._clock
        )
        self._playing = self._tasks.create_task(self._play(self._playout, book, draft))

    async def _play(self, playout: Playout, book: TurnBook, draft: DraftId) -> None:
        def started(at: Ns, span: Span) -> None:
            book.sent(draft, at, span)
            self._tell(AudioStarted(at=at, id=draft))

        await playout.run(self._door.audio, started)
        self._tell(AudioEnded(at=self._clock(), id=draft))

    async def _take_floor(self, draft: DraftId) -> None:
        assert self._book is not None
        text = self._book.texts.get(draft.revision, "")
        if draft.attempt == 1:
            self._history.user(text)
        await self._door.transcript("user", text)

    async def _silence(self) -> None:
        """Stop making and playing; what the client has not played yet, it is asked to drop."""
        playout = self._playout
        await _cancel(self._playing)
        await _cancel(self._making)
        if playout is not None and playout.sent_samples and self._playing_now(playout):
            await self._door.clear()
        self._note_heard()
        self._reply = self._playout = None

    def _playing_now(self, playout: Playout) -> bool:
        return playout.played_samples(self._clock()) < playout.sent_samples

    def _note_heard(self) -> None:
        if self._book is not None and self._playout is not None and self._playout.started_at is not None:
            self._book.heard = self._playout.heard(self._clock())

    async def _end(self, draft: DraftId, outcome: Outcome) -> None:
        book = self._book
        assert book is not None
        await self._silence()
        self._book = None
        if book.heard and draft.attempt == 1:
            self._history.assistant(book.heard)
            self._prepare()
        book.close(draft.revision, outcome)
        if book.heard:
            await self._door.transcript("agent", book.heard)
        await self._door.turn(book.report(self._manner.budget))

    def _abandon(self) -> None:
        if self._book is not None:
            self._book.close(self._machine.live.revision, Outcome.ABANDONED)
            self._book = None


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])
