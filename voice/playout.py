"""Lets a committed reply be heard: paced, so that little is lost when it has to stop."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.budget.marks import Span, Stage
from turngap.voice.audio.level import first_audible
from turngap.voice.audio.resample import Resampler
from turngap.voice.reply import Clause, Piece, Reply
from turngap.voice.tts.protocol import Speech

PACKET_MS: Final = 20
LEAD: Final[Ns] = 200 * MS
"""How far ahead of real time audio is sent: covers jitter of the network and of our loop, and is all that a client
that ignores ``clear`` would still play."""
KEPT_PACKETS: Final = 2 * LEAD // (PACKET_MS * MS)
"""Of those that were sent: the lead, and as much again for packets that were shorter."""


class Playout:
    """The playing of one reply, from its commit to its last sample, perhaps with an opener before it.

    :meth:`run` may be cancelled, and called again after :meth:`rewind`: it then goes on where it was. ``say`` is told
    the words that the next audio begins with.
    """

    def __init__(self, *, rate_hz: int, from_hz: int, clock: Clock, say: Callable[[str], Awaitable[None]]) -> None:
        self.reply: Reply | None = None
        self.opener: Clause | None = None
        self.content_at: Ns | None = None
        """When the first audible sample after the opener was, or will be, played."""
        self.sent_samples = 0
        """What was sent and not taken back."""
        self.started_at: Ns | None = None
        """When the first sample was played, had it been played without a break."""
        self._taken_at: Ns = 0
        self._rate_hz = rate_hz
        self._from_hz = from_hz
        self._clock = clock
        self._say = say
        self._resampler = Resampler(from_hz, rate_hz)
        self._waiting: deque[Piece] = deque()
        self._sent: deque[NDArray[np.float32]] = deque()
        """The latest packets that were sent: what may not have been played yet, and a little more."""
        self._begins_with = ""
        """Words of audio that the resampler has still."""
        self._complete = False
        self._given = asyncio.Event()

    @property
    def silent(self) -> bool:
        """Whether nothing was taken yet to be played."""
        return self.opener is None and not self._waiting and not self._sent

    def open(self, opener: Clause, pieces: Sequence[Speech]) -> None:
        """Begin with ``opener``, whose audio is ``pieces``."""
        self.opener = opener
        for speech in pieces:
            self._queue(self._resampler.feed(speech.samples), "" if opener.begun else opener.text)
            opener.take(speech)
        opener.complete = True
        self._taken_at = self._clock()

    def go_on(self, reply: Reply) -> None:
        """Play ``reply``, after the opener if there is one."""
        self.reply = reply
        self._given.set()

    async def run(
        self, send: Callable[[NDArray[np.float32]], Awaitable[None]], on_started: Callable[[Ns, Span, bool], None]
    ) -> None:
        """Send everything; returns when the last sample has been played. ``on_started`` is told of the first audible
        sample and whether that is an opener's, and after an opener once more, of the first that follows it."""
        if self.started_at is not None:  # again, after a break
            self.started_at = self._clock() - self.sent_samples * SECOND // self._rate_hz
        await self._drain(send, on_started)
        await self._given.wait()
        assert self.reply is not None
        while not self._complete:
            piece = await self.reply.audio.get()
            self._taken_at = self._clock()
            self._complete = piece is None
            if piece is None:
                self._queue(self._resampler.flush(), "")
            else:
                self._queue(self._resampler.feed(piece.samples), piece.begins)
            await self._drain(send, on_started)
        await self._until(0)

    def rewind(self) -> bool:
        """Take back what was sent and not played; whether there was anything. :meth:`run` must have been cancelled."""
        played = self.played_samples(self._clock())
        taken_back = self.sent_samples - played
        while self.sent_samples > played:
            part = self._sent.pop()
            self.sent_samples -= len(part)
            self._waiting.appendleft(Piece(part[max(0, played - self.sent_samples) :], ""))
        self.sent_samples = played
        return taken_back > 0

    def played_samples(self, now: Ns) -> int:
        """How much of what was sent has been heard by ``now``."""
        if self.started_at is None:
            return 0
        return min(self.sent_samples, (now - self.started_at) * self._rate_hz // SECOND)

    def heard(self, now: Ns) -> str:
        """The words of the reply that have been heard by ``now``."""
        return self.heard_in(self.played_samples(now))

    def heard_in(self, samples: int) -> str:
        """The words of the reply that the first ``samples`` of what was sent held."""
        played = samples * self._from_hz // self._rate_hz
        opened = "" if self.opener is None else self.opener.heard(played)
        played -= self._opened_samples()
        words = "" if self.reply is None or played <= 0 else self.reply.heard(played)
        return f"{opened} {words}".strip()

    def _opened_samples(self) -> int:
        """Of the synthesizer's, those that the opener takes."""
        return 0 if self.opener is None else self.opener.samples

    def _queue(self, samples: NDArray[np.float32], begins: str) -> None:
        packet = self._rate_hz * PACKET_MS // 1000
        self._begins_with = f"{self._begins_with} {begins}".strip()
        for start in range(0, len(samples), packet):
            self._waiting.append(Piece(samples[start : start + packet], self._begins_with))
            self._begins_with = ""

    async def _drain(
        self, send: Callable[[NDArray[np.float32]], Awaitable[None]], on_started: Callable[[Ns, Span, bool], None]
    ) -> None:
        while self._waiting:
            await self._until(LEAD)
            part, begins = self._waiting[0]
            if begins:
                self._waiting[0] = Piece(part, "")
                await self._say(begins)
            self._waiting.popleft()
            before = self.sent_samples
            self._catch_up()
            # Noted before it is sent: whoever cancels the sending must not send it again.
            self.sent_samples += len(part)
            self._sent.append(part)
            if len(self._sent) > KEPT_PACKETS:
                self._sent.popleft()
            await send(part)
            if self._begins(before, part):
                now = self._clock()
                opens = self.started_at is None and self.opener is not None
                if self.started_at is None:
                    self.started_at = now - before * SECOND // self._rate_hz
                else:
                    self.content_at = max(now, self.started_at + before * SECOND // self._rate_hz)
                on_started(now, Span(stage=Stage.PLAYOUT, start=self._taken_at, end=now, what="send"), opens)

    def _begins(self, before: int, part: NDArray[np.float32]) -> bool:
        """Whether the first audible sample is in this part, or the first one after the opener."""
        if self.started_at is None:
            return first_audible(part, self._rate_hz) is not None
        if self.opener is None or self.content_at is not None:
            return False
        rest = part[max(0, self._opened_samples() * self._rate_hz // self._from_hz - before) :]
        return first_audible(rest, self._rate_hz) is not None

    def _catch_up(self) -> None:
        """What was sent has all been played a while ago: what is sent now is played now."""
        now = self._clock()
        if self.started_at is not None and self.started_at + self.sent_samples * SECOND // self._rate_hz < now:
            self.started_at = now - self.sent_samples * SECOND // self._rate_hz

    async def _until(self, lead: Ns) -> None:
        """Wait until playing is at most ``lead`` behind what was sent."""
        if self.started_at is None:
            return
        due = self.started_at + self.sent_samples * SECOND // self._rate_hz - lead
        if (wait := due - self._clock()) > 0:
            await asyncio.sleep(wait / 1e9)
