"""The user's audio, as long as somebody may still ask for it."""

import numpy as np
from numpy.typing import NDArray


class AudioLog:
    """Mono samples addressed by their position in the stream; old ones are let go in blocks."""

    def __init__(self) -> None:
        self._start = 0
        self._end = 0
        self._buffer = np.zeros(1 << 16, np.float32)

    @property
    def end(self) -> int:
        """One past the last sample."""
        return self._end

    def append(self, samples: NDArray[np.float32]) -> None:
        used = self._end - self._start
        if used + len(samples) > len(self._buffer):
            grown = np.zeros(max(2 * len(self._buffer), used + len(samples)), np.float32)
            grown[:used] = self._buffer[:used]
            self._buffer = grown
        self._buffer[used : used + len(samples)] = samples
        self._end += len(samples)

    def slice(self, start: int, end: int) -> NDArray[np.float32]:
        """A copy of what is still kept of ``start:end``."""
        start, end = max(start, self._start), min(end, self._end)
        return self._buffer[start - self._start : max(start, end) - self._start].copy()

    def forget_before(self, start: int) -> None:
        """Let go of everything before ``start``; a few seconds at once, since it moves the rest."""
        surplus = min(start, self._end) - self._start
        if surplus >= 1 << 16:
            kept = self._buffer[surplus : self._end - self._start].copy()
            self._buffer = np.zeros(max(1 << 16, 2 * len(kept)), np.float32)
            self._buffer[: len(kept)] = kept
            self._start += surplus
