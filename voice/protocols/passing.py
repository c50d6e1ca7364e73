"""A door that is another one, for those that only listen at it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.voice.protocols.door import Door, News, Packet, Wish


class PassingDoor:
    """Passes everything on to ``door``."""

    def __init__(self, door: Door) -> None:
        self._door = door

    @property
    def rate_hz(self) -> int:
        return self._door.rate_hz

    async def packet(self) -> Packet | Wish | None:
        return await self._door.packet()

    async def audio(self, samples: NDArray[np.float32]) -> None:
        await self._door.audio(samples)

    async def clear(self) -> None:
        await self._door.clear()

    async def transcript(self, role: str, text: str) -> None:
        await self._door.transcript(role, text)

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        await self._door.hypothesis(turn, stable, unstable)

    async def turn(self, report: Mapping[str, Any]) -> None:
        await self._door.turn(report)

    async def tell(self, news: News) -> None:
        await self._door.tell(news)

    async def error(self, code: str, message: str, remedy: str) -> None:
        await self._door.error(code, message, remedy)
