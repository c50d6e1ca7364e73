"""What a front door is to the session: audio in with its arrival, audio and events out.

A door owns one connection and translates between its wire format and these calls. It refuses what its protocol
forbids before the session sees it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Ns


@dataclass(frozen=True, slots=True)
class Packet:
    """Audio of the user: mono float32, -1 to 1, at the door's rate, and when it was read."""

    samples: NDArray[np.float32]
    at: Ns


class ClientGone(Exception):
    """The client has left, or was sent away; nothing more can be said to it."""


class Door(Protocol):
    """One connection. All sends raise :class:`ClientGone` once the client has left."""

    @property
    def rate_hz(self) -> int:
        """Rate of the audio in both directions."""
        ...

    async def packet(self) -> Packet | None:
        """The next audio of the user; None when the client said that no more will come. May be cancelled and
        called again. Raises ClientGone when the client has left."""
        ...

    async def audio(self, samples: NDArray[np.float32]) -> None: ...

    async def clear(self) -> None:
        """Ask the client to drop what it has not played yet."""
        ...

    async def transcript(self, role: str, text: str) -> None:
        """Final words of ``user`` or ``agent``."""
        ...

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        """What is heard of the user so far. ``stable`` begins all that is told later of the same turn."""
        ...

    async def turn(self, report: Mapping[str, Any]) -> None:
        """The whole ledger of a turn that has ended."""
        ...

    async def error(self, code: str, message: str, remedy: str) -> None: ...
