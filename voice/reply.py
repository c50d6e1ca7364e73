"""One attempt at a reply: words from the backend, pieces worth speaking, audio. A shell without decisions.

The words are pulled, not pushed: while a piece is synthesised the local model rests, so that the two cores serve
the piece that somebody waits for. What is made waits in :attr:`Reply.audio` until the draft is committed.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock, Ns, milliseconds
from turngap.budget.errors import StageTimeoutError
from turngap.budget.ledger import TurnLedger
from turngap.budget.marks import Mark, Span, Stage
from turngap.llm.clause import Clauses, speakable
from turngap.llm.protocol import Conversation, Delta, Limits, Message, ReplyStream
from turngap.voice.events import DraftId
from turngap.voice.tts.alignment import heard_prefix
from turngap.voice.tts.protocol import Speech, Synthesizer, WordEnd

QUEUED_PIECES = 64
"""At 0.2 to 0.6 s a piece more audio than a reply has; a limit all the same."""


@dataclass(slots=True)
class Clause:
    """A piece of the reply's text, and what has become of it so far: audio, and where in that its words end."""

    text: str
    samples: int = 0
    words: list[WordEnd] = field(default_factory=list)
    complete: bool = False
    """Whether that is all of its audio."""

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

    def __init__(self, draft: DraftId, ledger: TurnLedger, synthesizer: Synthesizer, clock: Clock) -> None:
        self.id = draft
        self.audio: asyncio.Queue[NDArray[np.float32] | None] = asyncio.Queue(QUEUED_PIECES)
        self.clauses: list[Clause] = []
        self.first_audio_at: Ns | None = None
        self._ledger = ledger
        self._synthesizer = synthesizer
        self._clock = clock
        self._spans: list[Span] = []

    async def run(
        self, conversation: Conversation, messages: Sequence[Message], *, limits: Limits, stall: Ns, asked_at: Ns
    ) -> None:
        """Answer ``messages``. Raises StageError; the ledger then holds what was done until there."""
        stream = conversation.reply(messages, limits=limits)
        now = self._clock()
        self._spans.append(Span(stage=Stage.DISPATCH, start=asked_at, end=now, what="prompt"))
        self._mark(Mark.REQUEST, Mark.TRANSCRIPT, now)
        try:
            async with aclosing(stream), aclosing(self._clauses(stream, stall)) as clauses:
                async for clause in clauses:
                    if clause:
                        await self._speak(clause)
        finally:
            self._write_down(stream)
        await self.audio.put(None)

    async def say(self, text: str) -> None:
        """Speak a text that needs no backend. Raises StageError."""
        await self._speak(text, marked=False)
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
                    self._mark(Mark.FIRST_TOKEN, Mark.REQUEST, self._clock())
                    first = False
                for clause in clauses.feed(delta.text):
                    yield speakable(clause)
        for clause in clauses.end():
            yield speakable(clause)

    async def _speak(self, text: str, *, marked: bool = True) -> None:
        if marked and not self.clauses:
            self._mark(Mark.SPEAKABLE, Mark.FIRST_TOKEN, self._clock())
        clause = Clause(text)
        self.clauses.append(clause)
        async with aclosing(self._synthesizer.speak(text)) as pieces:
            async for speech in pieces:
                if marked and self.first_audio_at is None:
                    self._first_audio(speech)
                clause.samples += len(speech.samples)
                clause.words.extend(speech.words)
                await self.audio.put(speech.samples)
        clause.complete = True

    def _first_audio(self, speech: Speech) -> None:
        self.first_audio_at = self._clock()
        self._spans.append(speech.span)
        self._mark(Mark.FIRST_AUDIO, Mark.SPEAKABLE, self.first_audio_at)

    def _mark(self, mark: Mark, released_by: Mark, at: Ns) -> None:
        self._ledger.mark(mark, at, revision=self.id.revision, released_by=released_by)

    def _write_down(self, stream: ReplyStream) -> None:
        revision = self.id.revision
        for span in (*self._spans, *stream.usage.spans):
            self._ledger.span(span, revision=revision)
        usage = stream.usage
        self._ledger.note("prompt_tokens", usage.prompt_tokens, revision=revision)
        self._ledger.note("cached_tokens", usage.cached_tokens, revision=revision)
        self._ledger.note("prefilled_tokens", usage.prefilled_tokens, revision=revision)
        self._ledger.note("completion_tokens", usage.completion_tokens, revision=revision)
        self._ledger.note("finish", usage.finish, revision=revision)


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
