"""One conversation, from the first packet to the last: the shell around the turn machine.

It performs what the machine asks for and tells it what came of it. Three kinds of tasks live in its task group:
hearing (packets to onsets and pauses), deciding (events to effects, one at a time), and work for one id: a pass of
the recogniser, and what :mod:`turngap.voice.answering` does for a reply. Nothing here decides who has the floor.
"""

import asyncio
from typing import assert_never

from turngap.budget.clock import MS, Clock, Ns
from turngap.budget.errors import StageError
from turngap.budget.ledger import Outcome
from turngap.budget.marks import Mark, Span, Stage
from turngap.voice.answering import Answering
from turngap.voice.asr.incremental import PassRequest, Transcription
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
from turngap.voice.endpointing.protocol import VAD_RATE_HZ, Frame, Onset, Pause
from turngap.voice.events import DraftId, Event, Heard, SpeechPaused, SpeechStarted
from turngap.voice.hearing import Hearing, Noticed
from turngap.voice.manner import Manner, Parts
from turngap.voice.protocols.door import ClientGone, Door, Packet
from turngap.voice.turn import State, TurnMachine

PREROLL_SAMPLES = VAD_RATE_HZ * 3 // 10
"""The detector is sure only after some frames, and a soft first consonant comes before them."""

VOICED = 0.5
"""From this probability on a frame counts as voiced for the pace of the recogniser."""

STARVED: Ns = 1000 * MS
"""No packet for so long is no jitter any more."""

IDLE_MEMORY_SAMPLES = VAD_RATE_HZ * 2


class Session:
    """One conversation. :meth:`run` returns when it is over; nothing of it is left then."""

    def __init__(self, door: Door, parts: Parts, manner: Manner, clock: Clock) -> None:
        self._door = door
        self._parts = parts
        self._budget = manner.budget
        self._clock = clock
        self._machine = TurnMachine(
            barge_in=manner.barge_in, deadline=manner.deadline, draft_at_pause=manner.draft_at_pause
        )
        self._hearing = Hearing(door.rate_hz, parts.activity, parts.endpointing, clock)
        self._transcription = Transcription(0)
        self._listener = parts.recognizer.listen()
        self._tasks = asyncio.TaskGroup()
        self._answering = Answering(door, parts, manner, clock, tasks=self._tasks, tell=self._tell)
        # Events are few, some for each pause and each reply, and deciding takes microseconds: it cannot fill up.
        self._inbox: asyncio.Queue[tuple[Event, Noticed | None] | None] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._idle.set()
        self._onset = 0
        self._book: TurnBook | None = None
        self._passing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Converse until the client leaves or has no more to say."""
        try:
            async with self._tasks:
                self._answering.prepare()
                self._tasks.create_task(self._decide())
                await self._hear()
                await self._idle.wait()
                self._inbox.put_nowait(None)
        except* ClientGone:
            pass
        finally:
            self._abandon()
            await self._answering.aclose()

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
            await self._answering.fail(draft if request.final else None, error)
            return
        hypothesis = transcription.take(request, heard)
        if hypothesis is None or book is None or book is not self._book:
            return  # nobody waits for it any more
        if hypothesis.final and draft == self._machine.live:
            book.transcribed(draft, hypothesis.text, at=self._clock(), spans=heard.spans)
            self._tell(Heard(at=self._clock(), id=draft, text=hypothesis.text))
        else:
            # The last word may still change; the others are what the next prompt will most likely begin with.
            self._answering.prepare(" ".join(hypothesis.words[:-1]))
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
        if isinstance(effect, BeginTurn):
            self._begin(effect.turn)
            return
        book, answering = self._book, self._answering
        assert book is not None
        match effect:
            case GoOn():
                self._transcription.resumed()
            case Transcribe(id=draft):
                self._transcribe(draft, noticed, book)
            case Draft(id=draft, text=text):
                answering.draft(draft, text, book)
            case Endpoint(id=draft):
                self._endpoint(draft, due, book)
            case Commit(id=draft):
                answering.commit(draft, book)
            case TakeFloor(id=draft):
                await answering.take_floor(draft, book.texts.get(draft.revision, ""))
            case Discard() | Hush():
                await answering.silence(book)
            case Excuse(id=draft, reason=reason):
                answering.excuse(draft, reason, book)
            case EndTurn(id=draft, outcome=outcome):
                await self._end(draft, outcome, book)
            case _:
                assert_never(effect)

    def _begin(self, turn: int) -> None:
        start = max(0, self._onset - PREROLL_SAMPLES)
        self._hearing.log.forget_before(start)
        self._transcription = Transcription(start)
        self._listener = self._parts.recognizer.listen()
        self._book = TurnBook(turn, self._onset)

    def _transcribe(self, draft: DraftId, noticed: Noticed | None, book: TurnBook) -> None:
        assert noticed is not None
        assert isinstance(noticed.floor, Pause)
        speech_end_at = self._hearing.moment(noticed.floor.speech_end)
        book.paused(draft, noticed.floor, speech_end_at=speech_end_at, at=self._clock(), spans=noticed.spans)
        self._transcription.paused(self._hearing.log.end)
        self._transcribe_next()

    def _endpoint(self, draft: DraftId, due: Ns | None, book: TurnBook) -> None:
        now = self._clock()
        paused = book.ledger.view(draft.revision).marks[Mark.PAUSE].at
        waited = Span(stage=Stage.ENDPOINTING, start=paused, end=max(paused, min(due or now, now)), what="hangover")
        book.ledger.span(waited, revision=draft.revision)
        book.ledger.mark(Mark.ENDPOINT, now, revision=draft.revision, released_by=Mark.PAUSE)

    async def _end(self, draft: DraftId, outcome: Outcome, book: TurnBook) -> None:
        self._book = None
        await self._answering.end(draft, book)
        book.close(draft.revision, outcome)
        if book.heard:
            await self._door.transcript("agent", book.heard)
        await self._door.turn(book.report(self._budget))

    def _abandon(self) -> None:
        if self._book is not None:
            self._book.close(self._machine.live.revision, Outcome.ABANDONED)
            self._book = None
