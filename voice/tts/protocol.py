"""What a synthesizer is to the rest: text in, audio out in pieces, the first as soon as it can be heard."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from turngap.budget.marks import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class WordEnd:
    """Where a word ends: after ``chars`` characters of its text, and ``samples`` after the beginning of its audio."""

    chars: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """A piece of synthesised audio: mono float32, -1 to 1, at the synthesizer's rate, and the work it took.

    ``words`` are the words of the text whose ends became known with this piece. Each word is told at most once, in
    order, and may be told a piece later than it begins or long before it ends; both its numbers count from the
    beginning of the text that is spoken, not of the piece. A word without sound is never told. A voice that does not
    know where its words end tells none.
    """

    samples: NDArray[np.float32]
    span: Span
    words: tuple[WordEnd, ...] = ()


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
