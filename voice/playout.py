"""Lets a committed reply be heard: paced, so that little is lost when it has to stop."""

import asyncio
from collections import deque
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
KEPT_PACKETS: Final = 2 * LEAD // (PACKET_MS * MS)
"""Of those that were sent: the lead, and as much again for packets that were shorter."""


class Playout:
    """The playing of one reply, from its commit to its last sample.

    :meth:`run` may be cancelled, and called again after :meth:`rewind`: it then goes on where it was.
    """

    def __init__(self, reply: Reply, *, rate_hz: int, from_hz: int, clock: Clock) -> None:
        self.reply = reply
        self.sent_samples = 0
        """What was sent and not taken back."""
        self.started_at: Ns | None = None
        """When the first sample was played, had it been played without a break."""
        self._taken_at: Ns = 0
        self._rate_hz = rate_hz
        self._from_hz = from_hz
        self._clock = clock
        self._resampler = Resampler(from_hz, rate_hz)
        self._waiting: deque[NDArray[np.float32]] = deque()
        self._sent: deque[NDArray[np.float32]] = deque()
        """The latest packets that were sent: what may not have been played yet, and a little more."""
        self._complete = False

    async def run(
        self, send: Callable[[NDArray[np.float32]], Awaitable[None]], on_started: Callable[[Ns, Span], None]
    ) -> None:
        """Send everything; returns when the last sample has been played."""
        if self.started_at is not None:  # again, after a break
            self.started_at = self._clock() - self.sent_samples * SECOND // self._rate_hz
        await self._drain(send, on_started)
        while not self._complete:
            piece = await self.reply.audio.get()
            self._taken_at = self._clock()
            self._complete = piece is None
            self._queue(self._resampler.flush() if piece is None else self._resampler.feed(piece))
            await self._drain(send, on_started)
        await self._until(0)

    def rewind(self) -> bool:
        """Take back what was sent and not played; whether there was anything. :meth:`run` must have been cancelled."""
        played = self.played_samples(self._clock())
        taken_back = self.sent_samples - played
        while self.sent_samples > played:
            part = self._sent.pop()
            self.sent_samples -= len(part)
            self._waiting.appendleft(part[max(0, played - self.sent_samples) :])
        self.sent_samples = played
        return taken_back > 0

    def played_samples(self, now: Ns) -> int:
        """How much of what was sent has been heard by ``now``."""
        if self.started_at is None:
            return 0
        return min(self.sent_samples, (now - self.started_at) * self._rate_hz // SECOND)

    def heard(self, now: Ns) -> str:
        """The words of the reply that have been heard by ``now``."""
        return self.reply.heard(self.played_samples(now) * self._from_hz // self._rate_hz)

    def _queue(self, samples: NDArray[np.float32]) -> None:
        packet = self._rate_hz * PACKET_MS // 1000
        self._waiting.extend(samples[start : start + packet] for start in range(0, len(samples), packet))

    async def _drain(
        self, send: Callable[[NDArray[np.float32]], Awaitable[None]], on_started: Callable[[Ns, Span], None]
    ) -> None:
        while self._waiting:
            await self._until(LEAD)
            part = self._waiting.popleft()
            before = self.sent_samples
            # Noted before it is sent: whoever cancels the sending must not send it again.
            self.sent_samples += len(part)
            self._sent.append(part)
            if len(self._sent) > KEPT_PACKETS:
                self._sent.popleft()
            await send(part)
            if self.started_at is None and first_audible(part, self._rate_hz) is not None:
                now = self._clock()
                self.started_at = now - before * SECOND // self._rate_hz
                on_started(now, Span(stage=Stage.PLAYOUT, start=self._taken_at, end=now, what="send"))

    async def _until(self, lead: Ns) -> None:
        """Wait until playing is at most ``lead`` behind what was sent."""
        if self.started_at is None:
            return
        due = self.started_at + self.sent_samples * SECOND // self._rate_hz - lead
        if (wait := due - self._clock()) > 0:
            await asyncio.sleep(wait / 1e9)
