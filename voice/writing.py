"""Lets a committed reply be read, where the client wants no audio: what the playout is to a voice.

What was written has been read, all of it and at once: there is nothing to take back.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock, Ns
from turngap.budget.marks import Span, Stage
from turngap.voice.reply import Clause, Reply
from turngap.voice.tts.protocol import Speech


class Voiceless:
    """A synthesizer of no sound, for what is only written."""

    rate_hz = 24_000

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def warm(self) -> None:
        """Nothing to load."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """One piece without samples: the text is ready."""
        now = self._clock()
        yield Speech(samples=np.zeros(0, np.float32), span=Span(stage=Stage.TTS, start=now, end=now, what="text"))

    def describe(self) -> dict[str, str]:
        return {"voice": "none"}

    async def aclose(self) -> None:
        """Nothing to free."""


class Writing:
    """The writing of one reply. As :class:`~turngap.voice.playout.Playout`, without audio."""

    def __init__(self, *, clock: Clock, say: Callable[[str], Awaitable[None]]) -> None:
        self.reply: Reply | None = None
        self.opener: Clause | None = None
        self.content_at: Ns | None = None
        self.sent_samples = 0
        self.started_at: Ns | None = None
        self.silent = False
        """Nothing is opened here: the first words are there as soon as any."""
        self._written: list[str] = []
        self._clock = clock
        self._say = say
        self._given = asyncio.Event()

    def open(self, opener: Clause, pieces: Sequence[Speech]) -> None:
        raise NotImplementedError("an opener is for those who listen")

    def go_on(self, reply: Reply) -> None:
        self.reply = reply
        self._given.set()

    async def run(
        self, send: Callable[[NDArray[np.float32]], Awaitable[None]], on_started: Callable[[Ns, Span, bool], None]
    ) -> None:
        """Write everything; ``on_started`` is told of the first words."""
        await self._given.wait()
        assert self.reply is not None
        while (piece := await self.reply.audio.get()) is not None:
            taken_at = self._clock()
            self._written.append(piece.begins)
            await self._say(piece.begins)
            if self.started_at is None:
                now = self.started_at = self._clock()
                on_started(now, Span(stage=Stage.PLAYOUT, start=taken_at, end=now, what="send"), False)

    def rewind(self) -> bool:
        return False

    def played_samples(self, now: Ns) -> int:
        return 0

    def heard(self, now: Ns) -> str:
        return " ".join(self._written)

    def heard_in(self, samples: int) -> str:
        return " ".join(self._written)
