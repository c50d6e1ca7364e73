"""A canceller's first seconds, got over faster. Pure.

A canceller that knows nothing of the room mutes at first, and then, on its way from muting to cancelling, lets bursts
of the agent through: at -10 dB in a room that rings for 0.4 s, a quarter of a second of it 1.5 s into the first reply.
So it is made to rehearse: what has been heard and played so far is put through it again at once, after which it goes
on where it was, with twice the experience. Until it has settled, what it leaves of a loud echo is turned down further.
"""

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.echo import BLOCK, Canceller

REHEARSALS: Final = (100, 140, 180)
"""After so many audible blocks of the far end. Found by trial in made rooms that ring for 0.4 s. In rooms that ring for
0.5 s and more bursts still come at -10 and -20 dB (scripts/eval_echo.py --unseen). Each costs what the second or two
of audio costs that it repeats, once in a conversation."""

SETTLED: Final = 260
MEMORY: Final = 300
AUDIBLE: Final = 10.0 ** (-50 / 20)

SMOOTHING: Final = 0.75
LEFT_DB: Final = -4.0
SLOPE: Final = 4.0
LEAST_DB: Final = -40.0
"""Where less than -4 dB of what was heard is left, it was mostly echo: each dB less counts four times more."""


class Settling:
    """Wraps a canceller that is new to a conversation."""

    def __init__(self, canceller: Canceller) -> None:
        self.delay = canceller.delay
        self._canceller = canceller
        self._past: deque[tuple[NDArray[np.float32], NDArray[np.float32]]] = deque(maxlen=MEMORY)
        self._audible = 0
        self._late = np.zeros(self.delay, np.float32)
        self._heard = self._left = 0.0

    def cancel(self, near: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.float32]:
        cleaned = self._canceller.cancel(near, far)
        if self._audible >= SETTLED:
            return cleaned
        self._late = np.concatenate([self._late, near])
        heard, self._late = self._late[:BLOCK], self._late[BLOCK:]
        self._past.append((near, far))
        if _power(far) > AUDIBLE**2:
            self._audible += 1
            if self._audible in REHEARSALS:
                self._rehearse()
        return self._turned_down(cleaned, heard)

    def _rehearse(self) -> None:
        for near, far in self._past:
            self._canceller.cancel(near, far)

    def _turned_down(self, cleaned: NDArray[np.float32], heard: NDArray[np.float32]) -> NDArray[np.float32]:
        self._heard += (1.0 - SMOOTHING) * (_power(heard) - self._heard)
        self._left += (1.0 - SMOOTHING) * (_power(cleaned) - self._left)
        left_db = 10.0 * float(np.log10((self._left + 1e-9) / (self._heard + 1e-9)))
        gain_db = max(LEAST_DB, SLOPE * min(0.0, left_db - LEFT_DB))
        return np.asarray(cleaned * 10.0 ** (gain_db / 20.0), np.float32)


def _power(samples: NDArray[np.float32]) -> float:
    return float(np.mean(np.square(samples)))
