"""How loud audio is, where it begins to be audible, and where a voice ends. Pure; used by server and client alike.

Two definitions rule every gap that turngap reports, and they stand here:

* **First audible sample**: in the first 5 ms block whose RMS is above -45 dBFS, the first sample whose magnitude
  is above that level. Quieter than that, a loudspeaker in a quiet room gives nothing to hear.
* **Last voiced sample**: the end of the last 10 ms block, within 0.4 s of where the voice detector lost the voice,
  whose level is above both the noise floor + 8 dB and the loud parts of the speech - 30 dB.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

AUDIBLE_DB: Final = -45.0
AUDIBLE_BLOCK_MS: Final = 5
LEVEL_BLOCK_MS: Final = 10
SILENCE_DB: Final = -100.0
"""What digital silence is counted as; the logarithm of zero is of no use to anybody."""

ABOVE_FLOOR_DB: Final = 8.0
BELOW_LOUD_DB: Final = 30.0
LOUD_RANGE_DB: Final = 3.0
OFFSET_SHARE: Final = 0.05
"""Of each 32 ms frame: over 0.6 s the lowest voice averages out."""


def block_levels(samples: NDArray[np.float32], block: int) -> NDArray[np.float64]:
    """RMS level in dBFS of each whole block of ``block`` samples; a rest at the end is left out."""
    whole = samples[: len(samples) // block * block].astype(np.float64).reshape(-1, block)
    power = np.mean(np.square(whole), axis=1)
    return np.asarray(10.0 * np.log10(np.maximum(power, 10.0 ** (SILENCE_DB / 10.0))))


class Offset:
    """What is constant in a stream: a microphone's direct current, which is no sound and hides every pause."""

    def __init__(self) -> None:
        self._mean: float | None = None

    def of(self, frame: NDArray[np.float32]) -> float:
        """The constant as the frames so far show it, the newest included."""
        mean = float(np.mean(frame, dtype=np.float64))
        self._mean = mean if self._mean is None else self._mean + OFFSET_SHARE * (mean - self._mean)
        return self._mean


def first_audible(samples: NDArray[np.float32], rate_hz: int, *, start: int = 0) -> int | None:
    """Index of the first audible sample at or after ``start``; None if there is none."""
    block = rate_hz * AUDIBLE_BLOCK_MS // 1000
    rest = samples[start:]
    if len(rest) % block > 0:
        rest = np.concatenate([rest, np.zeros(block - len(rest) % block, np.float32)])
    loud = np.flatnonzero(block_levels(rest, block) > AUDIBLE_DB)
    if not len(loud):
        return None
    first = int(loud[0]) * block
    over = np.abs(rest[first : first + block]) > 10.0 ** (AUDIBLE_DB / 20.0)
    return start + first + int(np.argmax(over))


def voiced_threshold_db(floor_db: float, loud_db: float) -> float:
    """The level that a 10 ms block must exceed to count as voiced.

    Where nothing but speech was heard so far, what seems to be the floor is speech too: loud parts always count.
    """
    return max(min(floor_db + ABOVE_FLOOR_DB, loud_db - LOUD_RANGE_DB), loud_db - BELOW_LOUD_DB)


def last_voiced_block(levels_db: Sequence[float] | NDArray[np.float64], threshold_db: float) -> int | None:
    """Index of the last block above the threshold; None if there is none."""
    above = np.flatnonzero(np.asarray(levels_db) > threshold_db)
    return int(above[-1]) if len(above) else None
