"""What the client plays, and when: the far end that an echo is made of. Pure.

Audio is sent up to a fifth of a second before it is played, and what was sent and then cleared is never played at
all. So a packet is put where playing has got to: behind the one before, or now if the client has run dry. Transport,
the client's buffer and the room come on top; they are the delay that an echo canceller finds by itself.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import SECOND, Ns

MEMORY: Ns = 5 * SECOND
"""How long before what was last asked for is kept: more than any client may be late with its audio."""


class FarEnd:
    """The audio that one client plays, found by the moment at which it does."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._packets: deque[tuple[int, NDArray[np.float32]]] = deque()
        """Where each begins, in samples of this rate since the clock's zero. In order, without overlap."""
        self._end = 0

    def sent(self, samples: NDArray[np.float32], at: Ns) -> None:
        """Note that ``samples`` left at this moment. Moments must not go back."""
        start = max(self._end, self._index(at))
        self._packets.append((start, samples))
        self._end = start + len(samples)

    def cleared(self, at: Ns) -> None:
        """Note that the client drops, from this moment on, what it has not played."""
        cut = self._index(at)
        while self._packets and self._packets[-1][0] >= cut:
            self._packets.pop()
        if self._packets and cut < self._end:
            start, samples = self._packets[-1]
            self._packets[-1] = (start, samples[: cut - start])
        self._end = min(self._end, cut)

    def audible_since(self, moment: Ns) -> bool:
        """Whether anything was, or is to be, played after ``moment``."""
        return bool(self._packets) and self._end > self._index(moment)

    def during(self, start: Ns, count: int) -> NDArray[np.float32]:
        """The ``count`` samples that are played from ``start`` on; silence where nothing is."""
        first = self._index(start)
        found = np.zeros(count, np.float32)
        for begin, samples in self._packets:
            low, high = max(begin, first), min(begin + len(samples), first + count)
            if low < high:
                found[low - first : high - first] = samples[low - begin : high - begin]
        self._forget_before(self._index(start - MEMORY))
        return found

    def _forget_before(self, index: int) -> None:
        while self._packets and self._packets[0][0] + len(self._packets[0][1]) < index:
            self._packets.popleft()

    def _index(self, at: Ns) -> int:
        return at * self._rate_hz // SECOND
