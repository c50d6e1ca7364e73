"""The raw PCM front door on a real websocket."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock
from turngap.budget.errors import ClientError
from turngap.voice.audio.pcm import to_pcm16
from turngap.voice.protocols.door import News, Packet
from turngap.voice.protocols.pcm import Audio, ClientMessage, End, PcmProtocol, Start
from turngap.voice.protocols.wire import Wire


class PcmDoor:
    """One connection that speaks :mod:`turngap.voice.protocols.pcm`. Call :meth:`open` first."""

    def __init__(self, wire: Wire, clock: Clock) -> None:
        self._wire = wire
        self._clock = clock
        self._protocol = PcmProtocol()
        self._waiting: list[Packet] = []
        self._ended = False

    @property
    def rate_hz(self) -> int:
        return self._protocol.start.rate_hz

    async def open(self) -> None:
        """Wait for the start message, or for audio without one."""
        match await self._message():
            case Audio(samples=samples):
                self._waiting.append(Packet(samples, self._clock()))
            case End():
                self._ended = True
            case Start():
                pass

    async def packet(self) -> Packet | None:
        """The next audio of the user; None when the client said that no more will come."""
        if self._waiting:
            return self._waiting.pop()
        while not self._ended:
            match await self._message():
                case Audio(samples=samples):
                    return Packet(samples, self._clock())
                case End():
                    self._ended = True
                case Start():
                    pass
        return None

    async def audio(self, samples: NDArray[np.float32]) -> None:
        await self._wire.send(to_pcm16(samples))

    async def clear(self) -> None:
        await self._send_fields(type="clear")

    async def transcript(self, role: str, text: str) -> None:
        await self._send_fields(type="transcript", role=role, text=text, final=True)

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        if "hypothesis" in self._protocol.start.events:
            await self._send_fields(type="hypothesis", turn=turn, stable=stable, unstable=unstable)

    async def turn(self, report: Mapping[str, Any]) -> None:
        if "turn" in self._protocol.start.events:
            await self._send_fields(type="turn", **report)

    async def tell(self, news: News) -> None:
        """This protocol has no words for it."""

    async def error(self, code: str, message: str, remedy: str) -> None:
        await self._send_fields(type="error", code=code, message=message, remedy=remedy)

    async def _message(self) -> ClientMessage:
        while True:
            message = await self._wire.receive()
            try:
                return self._protocol.read(message)
            except ClientError as error:
                await self.error(error.code, error.message, error.remedy)
                await self._wire.refused()

    async def _send_fields(self, **fields: Any) -> None:
        await self._wire.send(json.dumps(fields, ensure_ascii=False))
