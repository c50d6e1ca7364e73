"""What a synthesizer is to the rest: text in, audio out in pieces, the first as soon as it can be heard."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from turngap.budget.marks import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """A piece of synthesised audio: mono float32, -1 to 1, at the synthesizer's rate, and the work it took."""

    samples: NDArray[np.float32]
    span: Span


class Synthesizer(Protocol):
    """Turns text into audio. One synthesizer serves all conversations and queues their work.

    The pieces of one text join without a seam; its leading silence is trimmed, so that the very first sample of
    the first piece is audible.
    """

    rate_hz: int

    async def warm(self) -> None: ...

    def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Synthesise ``text``, a clause or more. Close it (``aclosing``) to stop the work. Raises StageError."""
        ...

    def describe(self) -> dict[str, str]: ...

    async def aclose(self) -> None: ...
