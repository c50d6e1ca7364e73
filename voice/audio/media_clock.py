"""Which moment a sample belongs to.

A packet is stamped when our loop reads it, and a busy loop reads it late. Samples, however, come at an even pace,
and no packet can be read before its last sample was spoken. So the packet that came with the least delay in the
last seconds tells the pace for all of them, and a stalled loop does not shift the moments it is judged by.
"""

from collections import deque
from typing import Final

from turngap.budget.clock import MS, SECOND, Ns

WINDOW: Final[Ns] = 4 * SECOND
"""Long enough to hold an undelayed packet, short enough for sound cards that drift by 100 ppm (0.4 ms)."""

GAP: Final[Ns] = 400 * MS
"""Later than this is no jitter: the client had stopped sending, and the pace begins anew."""


class MediaClock:
    """Maps positions in a stream of audio to the moments at which they arrived."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._offsets: deque[tuple[Ns, Ns]] = deque()
        """(arrival, start of stream as that packet tells it); only minima that can still matter."""

    def arrived(self, end: int, at: Ns) -> None:
        """Note that the packet which ends before sample ``end`` was read ``at`` this moment."""
        offset = at - self._duration(end)
        if self._offsets and offset - self._offsets[0][1] > GAP:
            self._offsets.clear()
        while self._offsets and self._offsets[-1][1] >= offset:
            self._offsets.pop()
        self._offsets.append((at, offset))
        while self._offsets[0][0] < at - WINDOW:
            self._offsets.popleft()

    def moment(self, sample: int) -> Ns:
        """When sample ``sample`` arrived, or will if the stream goes on at its pace."""
        if not self._offsets:
            raise ValueError("no packet has arrived yet")
        return self._offsets[0][1] + self._duration(sample)

    def _duration(self, samples: int) -> Ns:
        return samples * SECOND // self._rate_hz
