"""Lets a committed reply be heard: paced, so that little is lost when it has to stop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.budget.marks import Span, Stage
from turngap.voice.audio.level import first_audible
from turngap.voice.audio.resample import Resampler
from turngap.voice.reply import Reply

PACKET_MS: Final = 20
LEAD: Final[Ns] = 200 * MS
"""How far ahead of real time audio is sent: covers jitter of the network and of our loop, and is all that a client
that ignores ``clear`` would still play."""


class Playout:
    """The playing of one reply, from its commit to its last sample."""

    def __init__(self, reply: Reply, *, rate_hz: int, from_hz: int, clock: Clock) -> None:
        self.reply = reply
        self.sent_samples = 0
        self.started_at: Ns | None = None
        self._taken_at: Ns = 0
        self._rate_hz = rate_hz
        self._from_hz = from_hz
        self._clock = clock
        self._resampler = Resampler(from_hz, rate_hz)

    async def run(
        self, send: Callable[[NDArray[np.float32]], Awaitable[None]], on_started: Callable[[Ns, Span], None]
    ) -> None:
        """Send everything; returns when the last sample has been played."""
        while (piece := await self.reply.audio.get()) is not None:
            self._taken_at = self._clock()
            await self._send(self._resampler.feed(piece), send, on_started)
        await self._send(self._resampler.flush(), send, on_started)
        await self._until(0)

    def played_samples(self, now: Ns) -> int:
        """How much of what was sent has been heard by ``now``."""
        if self.started_at is None:
            return 0
        return min(self.sent_samples, (now - self.started_at) * self._rate_hz // SECOND)

    def heard(self, now: Ns) -> str:
        """The words of the reply that have been heard by ``now``."""
        return self.reply.heard(self.played_samples(now) * self._from_hz // self._rate_hz)

    async def _send(
        self,
        samples: NDArray[np.float32],
        send: Callable[[NDArray[np.float32]], Awaitable[None]],
        on_started: Callable[[Ns, Span], None],
    ) -> None:
        packet = self._rate_hz * PACKET_MS // 1000
        for start in range(0, len(samples), packet):
            part = samples[start : start + packet]
            await self._until(LEAD)
            await send(part)
            self.sent_samples += len(part)
            if self.started_at is None and first_audible(part, self._rate_hz) is not None:
                now = self._clock()
                self.started_at = now - (self.sent_samples - len(part)) * SECOND // self._rate_hz
                on_started(now, Span(stage=Stage.PLAYOUT, start=self._taken_at, end=now, what="send"))

    async def _until(self, lead: Ns) -> None:
        """Wait until playing is at most ``lead`` behind what was sent."""
        if self.started_at is None:
            return
        due = self.started_at + self.sent_samples * SECOND // self._rate_hz - lead
        if (wait := due - self._clock()) > 0:
            await asyncio.sleep(wait / 1e9)
