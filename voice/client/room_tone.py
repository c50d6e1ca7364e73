"""Room tone: what a recording sounds like while nobody speaks, and clips whose end is exact by construction. Pure.

Digital silence is a world of its own to a voice detector, so whatever has to follow the speech (more quiet than the
recording has, or a clip that must end exactly where it is said to) is made of the recording's own quiet.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import block_levels

GUARD_S: Final = 0.35
"""Kept away from speech on both sides, since its reverberation and breath are not room tone."""

SHORTEST_S: Final = 0.3
LONGEST_S: Final = 2.0
CROSSFADE_S: Final = 0.02
JOIN_S: Final = 0.002
"""The cut itself is faded within the last 2 ms of the speech, so that not one sample of it lies beyond the end."""


@dataclass(frozen=True, slots=True)
class ExactClip:
    """A clip after whose ``speech_end_s`` there is nothing but room tone."""

    samples: NDArray[np.float32]
    speech_end_s: float


def find(samples: NDArray[np.float32], rate_hz: int, *, start_s: float, end_s: float) -> NDArray[np.float32] | None:
    """The quietest stretch outside the speech from ``start_s`` to ``end_s``; None where there is none long enough."""
    before = samples[: max(0, int((start_s - GUARD_S) * rate_hz))]
    after = samples[int((end_s + GUARD_S) * rate_hz) :]
    candidates = [quietest(part, rate_hz) for part in (before, after)]
    fitting = [tone for tone in candidates if tone is not None and np.any(tone)]
    return min(fitting, key=_peak_level) if fitting else None


def quietest(samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32] | None:
    """The stretch of up to 2 s whose loudest 10 ms are the quietest; None if there are not even 0.3 s."""
    length = min(len(samples), int(LONGEST_S * rate_hz))
    if length < int(SHORTEST_S * rate_hz):
        return None
    step = max(1, rate_hz // 10)
    starts = range(0, len(samples) - length + 1, step)
    return min((samples[start : start + length] for start in starts), key=_peak_level)


def loop(tone: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    """The tone as a piece that can follow itself for ever: its end is crossfaded into its beginning."""
    fade = min(int(CROSSFADE_S * rate_hz), len(tone) // 3)
    rising = np.sin(np.linspace(0.0, np.pi / 2, fade, dtype=np.float32))
    piece = tone[: len(tone) - fade].copy()
    piece[:fade] = piece[:fade] * rising + tone[len(tone) - fade :] * rising[::-1]
    return np.asarray(piece, np.float32)


def exact(
    samples: NDArray[np.float32], rate_hz: int, *, start_s: float, end_s: float, quiet_s: float = 3.0
) -> ExactClip | None:
    """The clip, cut at its last voiced sample, then ``quiet_s`` of its own room tone; None if it has no quiet."""
    tone = find(samples, rate_hz, start_s=start_s, end_s=end_s)
    if tone is None:
        return None
    cut = min(len(samples), round(end_s * rate_hz))
    join = min(int(JOIN_S * rate_hz), cut)
    quiet = np.resize(loop(tone, rate_hz), join + int(quiet_s * rate_hz))
    falling = np.linspace(1.0, 0.0, join, dtype=np.float32)
    speech = samples[:cut].copy()
    speech[cut - join :] = speech[cut - join :] * falling + quiet[:join] * falling[::-1]
    return ExactClip(np.concatenate([speech, quiet[join:]]), cut / rate_hz)


def _peak_level(tone: NDArray[np.float32]) -> float:
    levels = block_levels(tone, max(1, min(len(tone), 160)))
    return float(levels.max())
