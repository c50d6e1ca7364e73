"""Silence at the rims of synthesised audio: none before it, and a pause of natural length after it. Pure.

What counts as silence is :func:`turngap.voice.audio.level.first_audible`'s business, so that the first sample that
we send and the first sample that the gap is measured at are the same one. No fade is needed at the cut: the sample
before it was below the audible level, so the step is no larger than that.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import AUDIBLE_BLOCK_MS, AUDIBLE_DB, block_levels, first_audible

LEAST_FIRST_MS: Final = 60
"""A first piece shorter than this waits for more: it would have been played before the next one is there."""

FADE_MS: Final = 5
"""Out of the voice's last breath into silence, where it is cut."""

PAUSES_MS: Final[Mapping[str, int]] = MappingProxyType(
    {",": 130, ";": 200, ":": 200, "–": 200, "—": 200, ".": 300, "!": 300, "?": 300, "…": 400}
)
"""What a speaker leaves after each mark, about: the shorter half of what is usual, since a reply should not dawdle."""

NO_PAUSE_MS: Final = 40
"""After a piece that was cut in the middle of a clause: about the closure of a consonant."""


def pause_ms(text: str) -> int:
    """How long the pause after ``text`` should be, by its last mark."""
    end = text.rstrip("\"'”’)]» \n\t")
    return PAUSES_MS.get(end[-1:], NO_PAUSE_MS)


class Trimmer:
    """Trims one sentence while it is made; what comes out does not depend on how the audio was cut.

    :meth:`feed` gives back what can already be sent, nothing while all is silent so far; :meth:`finish` the rest.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._block = rate_hz * AUDIBLE_BLOCK_MS // 1000
        self._held: NDArray[np.float32] = np.zeros(0, np.float32)
        self._least_samples = rate_hz * LEAST_FIRST_MS // 1000
        self._begun = False
        self.onset = 0
        """Samples left out before the first audible one, once that was found."""

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take the next samples; get those up to the last block that can be heard."""
        self._held = np.concatenate([self._held, samples])
        if not self._begun:
            onset = first_audible(self._held, self._rate_hz)
            if onset is None:
                return self._held[:0]
            self._begun = True
            self.onset = onset
            self._held = self._held[onset:]
        voiced = self._voiced(self._held)
        if voiced < self._least_samples:
            return self._held[:0]
        self._least_samples = 0
        return self._take(voiced)

    def finish(self, pause_ms: int) -> NDArray[np.float32]:
        """No more will come: get the rest, with a pause of exactly ``pause_ms`` after the last audible block."""
        if not self._begun:
            return self._held[:0]
        whole = -(-len(self._held) // self._block) * self._block
        rest = np.pad(self._held, (0, whole - len(self._held)))
        self._held = np.zeros(0, np.float32)
        voiced = self._voiced(rest)
        pause = self._rate_hz * pause_ms // 1000
        tail = rest[voiced : voiced + pause].copy()
        fade = min(len(tail), self._rate_hz * FADE_MS // 1000)
        tail[len(tail) - fade :] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
        return np.concatenate([rest[:voiced], tail, np.zeros(pause - len(tail), np.float32)])

    def _voiced(self, samples: NDArray[np.float32]) -> int:
        """Samples up to the end of the last audible block; blocks are counted from the first audible sample."""
        loud = np.flatnonzero(block_levels(samples, self._block) > AUDIBLE_DB)
        return (int(loud[-1]) + 1) * self._block if len(loud) else 0

    def _take(self, count: int) -> NDArray[np.float32]:
        taken, self._held = self._held[:count], self._held[count:]
        return taken
