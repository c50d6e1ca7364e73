"""What a recogniser is to the rest: one pass over the audio of a turn, steered by the words already agreed on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from turngap.budget.marks import Span

ASR_RATE_HZ = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass over the audio heard.

    ``words`` is all of the text from the start of the audio, split at spaces, with the
    recogniser's own case and punctuation. Empty means that there was nothing to hear: silence, noise, or a loop
    that was cut off. ``sure`` tells for each word how likely the recogniser thinks it is, 0 to 1; it is empty where the
    recogniser can't say.
    """

    words: tuple[str, ...]
    sure: tuple[float, ...] = ()
    spans: tuple[Span, ...] = ()


class Listener(Protocol):
    """Hears the audio of one turn, which grows from pass to pass, and may keep what it has made of it."""

    async def decode(
        self, audio: NDArray[np.float32], *, start: int = 0, draft: Sequence[str] = (), prompt: str = ""
    ) -> Pass:
        """Hear ``audio``: mono, 16 kHz, -1 to 1.

        It is all of the audio from the position ``start`` of the turn on; where the pass before had the same start, its
        audio is the beginning of this one's. ``draft`` are the words that the pass before has heard: a hint that saves
        time and changes no word. ``prompt`` is what was said before this audio began. Raises StageError.
        """
        ...


class Recognizer(Protocol):
    """Turns audio into words. One recogniser serves all conversations and queues their passes."""

    async def warm(self) -> None: ...

    def listen(self) -> Listener:
        """A listener for one turn; what it keeps is freed with it."""
        ...

    def describe(self) -> dict[str, str]: ...

    async def aclose(self) -> None: ...
