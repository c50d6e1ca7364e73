"""A door at which an echo canceller listens: it is told of everything that the client will play."""

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock
from turngap.voice.audio.echo import EchoCanceller
from turngap.voice.protocols.door import Door
from turngap.voice.protocols.passing import PassingDoor


class OverheardDoor(PassingDoor):
    def __init__(self, door: Door, echo: EchoCanceller, clock: Clock) -> None:
        super().__init__(door)
        self._echo = echo
        self._clock = clock

    async def audio(self, samples: NDArray[np.float32]) -> None:
        # Before it is sent, for sending may wait, and no echo may come before its cause.
        self._echo.played(samples, self._clock())
        await super().audio(samples)

    async def clear(self) -> None:
        await super().clear()
        self._echo.cleared(self._clock())
