"""One loudness for a voice, chosen once. Pure.

Piper scales each sentence by its own loudest sample, which nobody knows while the sentence is still being made,
and which makes a short answer as loud as a long one only by accident. Here one gain is taken from a reference
sentence and kept; the rare sample that would clip is bent instead.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import AUDIBLE_DB, LEVEL_BLOCK_MS, block_levels

TARGET_DB: Final = -20.0
"""Level of the speech without its pauses: usual for voice, some 15 dB of room for the peaks."""

KNEE: Final = 0.85
"""Samples below this are left alone to the bit."""


def gain_for(reference: NDArray[np.float32], rate_hz: int) -> float:
    """What brings ``reference`` to the target level, but no sample of it above the knee; 1 if it is silent."""
    levels = block_levels(reference, rate_hz * LEVEL_BLOCK_MS // 1000)
    active = levels[levels > AUDIBLE_DB]
    if not len(active):
        return 1.0
    level_db = 10.0 * np.log10(np.mean(10.0 ** (active / 10.0)))
    return float(min(10.0 ** ((TARGET_DB - level_db) / 20.0), KNEE / np.max(np.abs(reference))))


def amplified(samples: NDArray[np.float32], gain: float) -> NDArray[np.float32]:
    """``samples`` times ``gain``, bent above the knee so that none goes beyond 1."""
    loud = samples * np.float32(gain)
    size = np.abs(loud)
    room = np.float32(1.0 - KNEE)
    bent = np.sign(loud) * (np.float32(KNEE) + room * np.tanh((size - np.float32(KNEE)) / room))
    return np.where(size > KNEE, bent, loud).astype(np.float32)
