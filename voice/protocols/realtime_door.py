"""The OpenAI Realtime front door on a real websocket."""

import asyncio
import json
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock
from turngap.voice.audio.resample import Resampler
from turngap.voice.protocols.door import Configure, News, Packet, Wish
from turngap.voice.protocols.realtime.config import FORMATS
from turngap.voice.protocols.realtime.core import RATE_HZ, Realtime
from turngap.voice.protocols.wire import Wire


class RealtimeDoor:
    """One connection that speaks :mod:`turngap.voice.protocols.realtime.core`. Call :meth:`open` first."""

    rate_hz = RATE_HZ

    def __init__(self, wire: Wire, clock: Clock, realtime: Realtime, *, reports: bool = False) -> None:
        self._wire = wire
        self._clock = clock
        self._realtime = realtime
        self._reports = reports
        self._waiting: deque[Packet | Wish] = deque()
        """Bounded by one message's: no other is read before."""
        self._outbox: deque[str] = deque()
        """Bounded by what one call tells: each waits until all of it is sent."""
        self._sending = asyncio.Lock()
        self._rates = self._formats()
        self._inward, self._outward = self._resamplers()

    async def open(self) -> None:
        """Greet the client; the session begins as it is announced."""
        await self._send(self._realtime.opened())
        self._waiting.append(self._realtime.configuration())

    async def packet(self) -> Packet | Wish | None:
        """The next audio of the user, or wish of the client."""
        while not self._waiting:
            message = await self._wire.receive()
            received = self._realtime.receive(message)
            if received.samples is not None:
                self._waiting.append(Packet(self._inward.feed(received.samples), self._clock()))
            self._waiting.extend(received.wishes)
            if any(isinstance(wish, Configure) for wish in received.wishes):
                self._reformat()
            self._queue(received.events)
            await self._flush()
        return self._waiting.popleft()

    async def audio(self, samples: NDArray[np.float32]) -> None:
        samples = self._outward.feed(samples)
        if len(samples):
            await self._send(self._realtime.audio(samples))

    async def clear(self) -> None:
        """The client drops what it has not played when it is told that the user speaks."""

    async def transcript(self, role: str, text: str) -> None:
        if role == "user":
            await self._send(self._realtime.heard(text))

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        """This protocol has no words for what may still change."""

    async def turn(self, report: Mapping[str, Any]) -> None:
        rest = self._outward.flush()
        self._renew()
        if len(rest) and report["outcome"] == "answered":
            self._queue(self._realtime.audio(rest))
        self._queue(self._realtime.over(report))
        if self._reports:
            self._outbox.append(json.dumps({"type": "turngap.turn", "turn": dict(report)}, ensure_ascii=False))
        await self._flush()

    async def tell(self, news: News) -> None:
        await self._send(self._realtime.tell(news))

    async def error(self, code: str, message: str, remedy: str) -> None:
        await self._send(self._realtime.failed(code, f"{message}. {remedy}" if remedy else message))

    def _formats(self) -> tuple[int, int]:
        config = self._realtime.config
        return FORMATS[config.input_format], FORMATS[config.output_format]

    def _resamplers(self) -> tuple[Resampler, Resampler]:
        return Resampler(self._rates[0], RATE_HZ), Resampler(RATE_HZ, self._rates[1])

    def _renew(self) -> None:
        """A flushed resampler takes no more: the next reply has one of its own."""
        self._outward = Resampler(RATE_HZ, self._rates[1])

    def _reformat(self) -> None:
        if self._rates != self._formats():
            self._rates = self._formats()
            self._inward, self._outward = self._resamplers()

    async def _send(self, events: Iterable[Mapping[str, Any]]) -> None:
        self._queue(events)
        await self._flush()

    def _queue(self, events: Iterable[Mapping[str, Any]]) -> None:
        self._outbox.extend(json.dumps(event, ensure_ascii=False) for event in events)

    async def _flush(self) -> None:
        """Send what waits, in order, whoever has put it there."""
        async with self._sending:
            while self._outbox:
                await self._wire.send(self._outbox.popleft())
