"""Parts of recordings, as sounds to be played over a conversation: equally loud, and without clicks. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError
from turngap.voice.audio.level import block_levels
from turngap.voice.client.recording import resampled

LEAD_IN_S: Final = 0.1
"""Kept before a labelled voice: a soft first consonant comes before what a detector is sure of."""
TAIL_S: Final = 0.05
"""Kept after it, faded. No more: a loud room after a voice would be taken for more of it."""
LOUD_DB: Final = -22.0
"""The loudest tenth of every part is brought to this level: the meetings were recorded 20 dB below the orders."""
PEAK: Final = 0.9


def bounds(row: Mapping[str, Any]) -> tuple[float, float]:
    """Where the voice in a recording of a manifest lies, from and to. Raises ConfigurationError where nothing tells."""
    segments, end_s = row.get("speech_segments_s"), row.get("speech_end_s")
    if not segments or end_s is None:
        raise ConfigurationError(f"the manifest does not say where the voice in {row.get('file')} ends")
    return max(0.0, segments[0][0] - LEAD_IN_S), end_s + TAIL_S


def cut(samples: NDArray[np.float32], rate_hz: int, *, start_s: float, end_s: float, to_hz: int) -> NDArray[np.float32]:
    """That part at another rate, brought to the common level and faded at both ends: a click is a sound too."""
    part = resampled(samples[round(start_s * rate_hz) : round(end_s * rate_hz)], rate_hz, to_hz)
    levels = block_levels(part, to_hz // 100)
    gain = 10.0 ** ((LOUD_DB - float(np.quantile(levels, 0.9))) / 20.0)
    scaled = part * min(gain, PEAK / max(float(np.abs(part).max()), 1e-9))
    fade = min(round(TAIL_S * to_hz), len(scaled) // 4)
    scaled[:fade] *= np.linspace(0.0, 1.0, fade, dtype=np.float32)
    scaled[-fade:] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
    return np.asarray(scaled, np.float32)


def loudest(samples: NDArray[np.float32], rate_hz: int, *, seconds: float, count: int) -> list[float]:
    """Where the ``count`` loudest parts of so many ``seconds`` begin that do not overlap, loudest first."""
    block = rate_hz // 100
    levels = block_levels(samples, block)
    width = max(1, round(seconds * rate_hz / block))
    if len(levels) <= width:
        return [0.0]
    sums = np.convolve(10.0 ** (levels / 10.0), np.ones(width), mode="valid")
    found: list[int] = []
    while len(found) < count and np.any(sums > 0.0):
        best = int(np.argmax(sums))
        found.append(best)
        sums[max(0, best - width) : best + width] = 0.0
    return [start * block / rate_hz for start in found]
