"""The front door for Twilio's Media Streams on a real websocket."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock
from turngap.budget.errors import ClientError
from turngap.llm.protocol import Role
from turngap.voice.protocols.door import Ask, News, Order, Packet, Wish, Write
from turngap.voice.protocols.twilio import RATE_HZ, Media, Pressed, Stopped, TwilioProtocol
from turngap.voice.protocols.wire import Wire


class TwilioDoor:
    """One call. Twilio reads no errors: what cannot be read is dropped, and after too much of it the call ends."""

    rate_hz = RATE_HZ

    def __init__(self, wire: Wire, clock: Clock) -> None:
        self._wire = wire
        self._clock = clock
        self._protocol = TwilioProtocol()
        self._waiting: deque[Packet | Wish] = deque()
        """Bounded by one message's: no other is read before."""
        self._pressed = 0

    async def open(self) -> None:
        """Nothing to agree on: the first messages tell all."""

    async def packet(self) -> Packet | Wish | None:
        """The next audio of the caller, or the key that was pressed; None when the call is over."""
        while not self._waiting:
            message = await self._wire.receive()
            try:
                said = self._protocol.read(message)
            except ClientError:
                await self._wire.refused()
                continue
            match said:
                case Media(samples=samples):
                    self._waiting.append(Packet(samples, self._clock()))
                case Pressed(key=key):
                    self._pressed += 1
                    written = Write(key=f"key:{self._pressed}", role=Role.USER, text=f"(The caller pressed {key}.)")
                    self._waiting.extend((written, Ask(Order())))
                case Stopped():
                    return None
                case _:
                    pass
        return self._waiting.popleft()

    async def audio(self, samples: NDArray[np.float32]) -> None:
        await self._wire.send(self._protocol.media(samples))

    async def clear(self) -> None:
        await self._wire.send(self._protocol.clear())

    async def transcript(self, role: str, text: str) -> None:
        """A telephone shows none."""

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        """A telephone shows none."""

    async def turn(self, report: Mapping[str, Any]) -> None:
        await self._wire.send(self._protocol.mark(f"turn {report['turn']}"))

    async def tell(self, news: News) -> None:
        """A telephone shows none."""

    async def error(self, code: str, message: str, remedy: str) -> None:
        """The caller hears an excuse."""
