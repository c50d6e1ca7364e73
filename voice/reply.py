"""One attempt at a reply: words from the backend, pieces worth speaking, audio. A shell without decisions.

The words are pulled, not pushed: while a piece is synthesised the local model rests, so that the two cores serve
the piece that somebody waits for. What is made waits in :attr:`Reply.audio` until the draft is committed.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock, Ns, milliseconds
from turngap.budget.errors import StageTimeoutError
from turngap.budget.marks import Mark, Span, Stage
from turngap.llm.calls import Call, Calls, Tool
from turngap.llm.clause import Clauses, speakable, spoken
from turngap.llm.protocol import Conversation, Delta, Limits, Message, ReplyStream, Urgency, Usage
from turngap.llm.thrift import cost
from turngap.voice.draft_page import DraftPage
from turngap.voice.events import DraftId
from turngap.voice.tts.alignment import heard_prefix
from turngap.voice.tts.protocol import Speech, Synthesizer, WordEnd

QUEUED_PIECES = 64
"""At 0.2 to 0.6 s a piece more audio than a reply has; a limit all the same."""


class Piece(NamedTuple):
    """Audio of the reply, and the words that it begins with, if it is the first of its clause."""

    samples: NDArray[np.float32]
    begins: str


@dataclass(slots=True)
class Clause:
    """A piece of the reply's text, and what has become of it so far: audio, and where in that its words end."""

    text: str
    samples: int = 0
    words: list[WordEnd] = field(default_factory=list)
    complete: bool = False
    """Whether that is all of its audio."""
    begun: bool = False
    """Whether there was any."""

    def take(self, speech: Speech) -> None:
        """More of its audio."""
        self.begun = True
        self.samples += len(speech.samples)
        self.words.extend(speech.words)

    def heard(self, played_samples: int) -> str:
        """Its words that the first ``played_samples`` of its audio held."""
        return heard_prefix(
            self.text,
            played_samples=played_samples,
            total_samples=self.samples,
            words=self.words,
            complete=self.complete,
        ).strip()


class Reply:
    """Makes one reply. :meth:`run` does the work; cancelling it stops everything that belongs to it."""

    def __init__(self, draft: DraftId, synthesizer: Synthesizer, clock: Clock, *, tools: Sequence[Tool] = ()) -> None:
        self.id = draft
        self.page = DraftPage(draft.revision)
        self.audio: asyncio.Queue[Piece | None] = asyncio.Queue(QUEUED_PIECES)
        self.clauses: list[Clause] = []
        self.first_audio_at: Ns | None = None
        self._synthesizer = synthesizer
        self._clock = clock
        self._calls = Calls([tool.name for tool in tools])
        self._stream: ReplyStream | None = None
        self._asked_at: Ns | None = None
        self._urgency = Urgency.DRAFT

    @property
    def ready(self) -> bool:
        """Whether something of it can be heard at once."""
        return self.first_audio_at is not None

    @property
    def took(self) -> Ns | None:
        """From the request to the first audio; None for what needed no backend, or has no audio yet."""
        if self._asked_at is None or self.first_audio_at is None:
            return None
        return self.first_audio_at - self._asked_at

    @property
    def warm(self) -> bool:
        """Whether the backend knew what the prompt began with."""
        return self._stream is not None and bool(self._stream.usage.cached_tokens)

    @property
    def calls(self) -> Sequence[Call]:
        """The functions that it wants to be run, so far."""
        return self._calls.found

    @property
    def usage(self) -> Usage | None:
        """What the backend has computed for it so far; None if none was asked."""
        return None if self._stream is None else self._stream.usage

    @property
    def tokens(self) -> int | None:
        """What the backend has made of it so far."""
        return None if self._stream is None else self._stream.usage.completion_tokens

    @property
    def cost(self) -> tuple[int, Ns]:
        """Tokens that the backend computed for it so far, and how long it was at it."""
        return (0, 0) if self._stream is None else cost(self._stream.usage)

    def hasten(self) -> None:
        """Somebody waits for it now."""
        self._urgency = Urgency.LIVE
        if self._stream is not None:
            self._stream.hasten()

    async def run(
        self,
        conversation: Conversation,
        messages: Sequence[Message],
        *,
        limits: Limits,
        stall: Ns,
        asked_at: Ns,
        released_by: Mark,
    ) -> None:
        """Answer ``messages``. Raises StageError; its page then holds what was done until there."""
        stream = self._stream = conversation.reply(messages, limits=limits, urgency=self._urgency)
        now = self._asked_at = self._clock()
        self.page.span(Span(stage=Stage.DISPATCH, start=asked_at, end=now, what="prompt"))
        self.page.mark(Mark.REQUEST, now, released_by=released_by)
        try:
            async with aclosing(stream), aclosing(self._clauses(stream, stall)) as clauses:
                async for clause in clauses:
                    if clause:
                        await self._speak(clause, released_by=Mark.FIRST_TOKEN)
        finally:
            self._write_down(stream)
        await self.audio.put(None)

    async def say(self, text: str, *, released_by: Mark | None = None) -> None:
        """Speak a text that needs no backend, and where ``released_by`` is told, mark when. Raises StageError."""
        for clause in spoken(text):
            await self._speak(clause, released_by=released_by)
        await self.audio.put(None)

    def heard(self, played_samples: int) -> str:
        """The words that the first ``played_samples`` of the audio held, at the synthesizer's rate."""
        words = []
        for clause in self.clauses:
            words.append(clause.heard(played_samples))
            played_samples -= clause.samples
            if played_samples <= 0:
                break
        return " ".join(word for word in words if word)

    async def _clauses(self, stream: ReplyStream, stall: Ns) -> AsyncGenerator[str, None]:
        clauses = Clauses()
        first = True
        async with aclosing(_unstalled(stream, stall)) as deltas:
            async for delta in deltas:
                if first:
                    self.page.mark(Mark.FIRST_TOKEN, self._clock(), released_by=Mark.REQUEST)
                    first = False
                for clause in clauses.feed(self._calls.feed(delta.text)):
                    yield speakable(clause)
        for clause in (*clauses.feed(self._calls.end()), *clauses.end()):
            yield speakable(clause)

    async def _speak(self, text: str, *, released_by: Mark | None) -> None:
        marked = released_by is not None and not self.clauses
        if released_by is not None and marked:
            self.page.mark(Mark.SPEAKABLE, self._clock(), released_by=released_by)
        clause = Clause(text)
        self.clauses.append(clause)
        async with aclosing(self._synthesizer.speak(text)) as pieces:
            async for speech in pieces:
                if self.first_audio_at is None:
                    self._first_audio(speech, marked=marked)
                begins = "" if clause.begun else clause.text
                clause.take(speech)
                await self.audio.put(Piece(speech.samples, begins))
        clause.complete = True

    def _first_audio(self, speech: Speech, *, marked: bool) -> None:
        self.first_audio_at = self._clock()
        if marked:
            self.page.span(speech.span)
            self.page.mark(Mark.FIRST_AUDIO, self.first_audio_at, released_by=Mark.SPEAKABLE)

    def _write_down(self, stream: ReplyStream) -> None:
        usage = stream.usage
        for span in usage.spans:
            self.page.span(span)
        self.page.note("prompt_tokens", usage.prompt_tokens)
        self.page.note("cached_tokens", usage.cached_tokens)
        self.page.note("prefilled_tokens", usage.prefilled_tokens)
        self.page.note("completion_tokens", usage.completion_tokens)
        self.page.note("finish", usage.finish)
        if usage.simulated:
            self.page.note("simulated", True)
            self.page.note("simulation_late_ms", None if usage.late is None else milliseconds(usage.late))
        for key, value in usage.notes.items():
            self.page.note(key, value)


async def _unstalled(stream: ReplyStream, stall: Ns) -> AsyncGenerator[Delta, None]:
    """The deltas of ``stream``; StageTimeoutError when the next one takes longer than ``stall``."""
    stage = Stage.PREFILL
    while True:
        try:
            async with asyncio.timeout(stall / 1e9):
                delta = await anext(stream, None)
        except TimeoutError as error:
            raise StageTimeoutError(
                stage,
                f"the backend sent nothing for {milliseconds(stall):.0f} ms",
                remedy="Look at the backend's load, or allow more with --stall",
            ) from error
        if delta is None:
            return
        stage = Stage.DECODE
        yield delta
