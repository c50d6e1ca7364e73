"""Where the user's speech really ends, found offline in the whole recording. Pure.

**The last voiced sample** is the end of the last 10 ms block

* that begins no earlier than 0.4 s before, and ends no later than 0.3 s after, the moment at which the voice detector's
  last segment ends, and
* whose RMS level is above both the recording's noise floor + 8 dB and its loud blocks - 30 dB.

The detector's segment begins with the first 32 ms frame whose probability is at least 0.5 and ends before the first
one under 0.35; the noise floor is the 10th percentile of the recording's block levels, the loud blocks are the 95th.
The detector alone is too coarse (a 32 ms grid, and it holds on through breaths); energy alone takes a door for a word.

The search reaches less far ahead than back, since a detector lingers more often than it lets go early: with 0.4 s
ahead, a breath or a chair after the last word moves the end in one recording of twenty by 100 ms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import LEVEL_BLOCK_MS, block_levels, last_voiced_block, voiced_threshold_db
from turngap.voice.client.recording import resampled
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, VAD_RATE_HZ

ON: Final = 0.5
OFF: Final = 0.35
BACK_S: Final = 0.4
AHEAD_S: Final = 0.3
HOLE_BLOCKS: Final = 3
FLOOR_PERCENTILE: Final = 10
LOUD_PERCENTILE: Final = 95
TURN_PAUSE_S: Final = 1.2
"""In a recording of several turns, a silence this long gives the floor away. Pauses inside the labelled orders reach
0.9 s, and nobody who expects an answer goes on sooner than this."""

Detector = Callable[[NDArray[np.float32]], float]
"""The chance that a frame holds a voice, called frame after frame on the calling thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A stretch in which the user has the floor, in seconds of the recording."""

    start_s: float
    end_s: float
    labelled: bool = False
    """Whether ``end_s`` was given with the recording rather than found in it."""


def probabilities(samples: NDArray[np.float32], rate_hz: int, detector: Detector) -> NDArray[np.float64]:
    """The detector's answer for each 32 ms frame of a mono recording, its last frame padded with silence."""
    audio = resampled(samples, rate_hz, VAD_RATE_HZ)
    padded = np.pad(audio, (0, -len(audio) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES)
    return np.array([detector(frame) for frame in padded])


def segments(voice: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Stretches of voice, in seconds, on the detector's own grid."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for index, probability in enumerate(voice):
        if start is None and probability >= ON:
            start = index
        elif start is not None and probability < OFF:
            found.append((start, index))
            start = None
    if start is not None:
        found.append((start, len(voice)))
    frame_s = FRAME_SAMPLES / VAD_RATE_HZ
    return [(first * frame_s, end * frame_s) for first, end in found]


def last_voiced_s(samples: NDArray[np.float32], rate_hz: int, *, near_s: float) -> float | None:
    """The last voiced sample, as defined above, where the detector let go at ``near_s``; None if all is quiet there."""
    # 10 ms are not a whole number of samples at every rate (22,050 Hz), and a block grid that drifts is a wrong time.
    levels = block_levels(resampled(samples, rate_hz, VAD_RATE_HZ), VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000)
    if not len(levels):
        return None
    floor, loud = np.percentile(levels, [FLOOR_PERCENTILE, LOUD_PERCENTILE])
    blocks_per_s = 1000 / LEVEL_BLOCK_MS
    first = max(0, round((near_s - BACK_S) * blocks_per_s))
    end = round((near_s + AHEAD_S) * blocks_per_s)
    last = last_voiced_block(levels[first:end], voiced_threshold_db(float(floor), float(loud)))
    return None if last is None else (first + last + 1) / blocks_per_s


def first_voiced_s(samples: NDArray[np.float32], rate_hz: int, *, near_s: float) -> float | None:
    """Where the voice begins that the detector noticed at ``near_s``: the first block of the run of voiced ones that
    it lies in, or that follows it within 0.3 s; a run has no hole of 30 ms. None if all is quiet there."""
    levels = block_levels(resampled(samples, rate_hz, VAD_RATE_HZ), VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000)
    if not len(levels):
        return None
    floor, loud = np.percentile(levels, [FLOOR_PERCENTILE, LOUD_PERCENTILE])
    voiced = np.flatnonzero(levels > voiced_threshold_db(float(floor), float(loud)))
    blocks_per_s = 1000 / LEVEL_BLOCK_MS
    near = round(near_s * blocks_per_s)
    after = voiced[(voiced >= near) & (voiced <= near + round(AHEAD_S * blocks_per_s))]
    if not len(after):
        return None
    first = int(after[0])
    for block in voiced[voiced < first][::-1]:
        if first - block > HOLE_BLOCKS:
            break
        first = int(block)
    return first / blocks_per_s


def utterances(
    samples: NDArray[np.float32], rate_hz: int, voice: NDArray[np.float64], *, pause_s: float = TURN_PAUSE_S
) -> list[Utterance]:
    """The user's turns in a whole recording: segments that are parted by less than ``pause_s`` belong together."""
    joined: list[tuple[float, float]] = []
    for start, end in segments(voice):
        if joined and start - joined[-1][1] < pause_s:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    found = []
    for start, end in joined:
        last = last_voiced_s(samples, rate_hz, near_s=end)
        found.append(Utterance(start_s=start, end_s=max(start, end if last is None else last)))
    return found


def one_turn(found: Sequence[Utterance], *, label_s: float | None) -> Utterance | None:
    """A clip that is one turn: from its first voice to the label, or to its last voice where there is no label."""
    if label_s is not None:
        start = min((each.start_s for each in found), default=0.0)
        return Utterance(start_s=min(start, label_s), end_s=label_s, labelled=True)
    if not found:
        return None
    return Utterance(start_s=found[0].start_s, end_s=found[-1].end_s)
