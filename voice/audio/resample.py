"""Streaming rate conversion, by soxr."""

import numpy as np
import soxr
from numpy.typing import NDArray


class Resampler:
    """Converts a stream of mono float32 pieces from one rate to another.

    Output sample ``k`` belongs to the same moment as input sample ``k * from_hz / to_hz``; the filter only makes it
    come later, by a few milliseconds, and :meth:`flush` brings out the rest.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        # MQ keeps 80 dB of stop band; HQ's longer filter would hold every piece back for twice as long.
        self._stream = None if from_hz == to_hz else soxr.ResampleStream(from_hz, to_hz, 1, "float32", quality="MQ")

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples), np.float32)

    def flush(self) -> NDArray[np.float32]:
        if self._stream is None:
            return np.zeros(0, np.float32)
        return np.asarray(self._stream.resample_chunk(np.zeros(0, np.float32), last=True), np.float32)
