"""What a loudspeaker would have played: audio that arrives in bursts, laid out on the client's clock. Pure.

Sample 0 of the track is the moment at which the client's own sample 0 was captured, so both tracks share one clock.
A piece plays from the later of its arrival and the end of what is queued before it; a ``clear`` drops what has not
played by then, and a drop in mid-piece is heard as a cut, as it would be.
"""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import SECOND, Ns


class Speaker:
    """The playout of one conversation. ``origin`` is the moment of sample 0."""

    def __init__(self, rate_hz: int, *, origin: Ns) -> None:
        self._rate_hz = rate_hz
        self._origin = origin
        self._pieces: list[tuple[int, NDArray[np.float32]]] = []

    def play(self, samples: NDArray[np.float32], *, at: Ns) -> None:
        """Queue a piece that arrived ``at`` this moment."""
        if len(samples):
            self._pieces.append((max(self._sample(at), self._end), samples))

    def clear(self, *, at: Ns) -> None:
        """Drop what has not played ``at`` this moment."""
        now = self._sample(at)
        self._pieces = [(start, samples[: now - start]) for start, samples in self._pieces if start < now]

    def silent_from(self) -> Ns:
        """The moment at which everything queued so far will have played; the origin if nothing ever was."""
        return self._origin + self._end * SECOND // self._rate_hz

    def track(self, *, samples: int = 0) -> NDArray[np.float32]:
        """All that was heard, from the origin on, with silence between; at least so many samples long."""
        track = np.zeros(max(samples, self._end), np.float32)
        for start, piece in self._pieces:
            track[start : start + len(piece)] = piece
        return track

    def between(self, start: int, end: int) -> NDArray[np.float32]:
        """What is heard from sample ``start`` to sample ``end``; before the origin there was silence."""
        part = np.zeros(end - start, np.float32)
        first = bisect_right(self._pieces, end, key=lambda piece: piece[0]) - 1
        for at, piece in reversed(self._pieces[: first + 1]):
            if at + len(piece) <= start:
                break
            inside = piece[max(0, start - at) : end - at]
            part[max(at, start) - start :][: len(inside)] = inside
        return part

    @property
    def pieces(self) -> list[tuple[int, NDArray[np.float32]]]:
        """What was heard, or will be if nothing is dropped any more: from which sample on, and which samples."""
        return list(self._pieces)

    @property
    def _end(self) -> int:
        if not self._pieces:
            return 0
        start, samples = self._pieces[-1]
        return start + len(samples)

    def _sample(self, at: Ns) -> int:
        """The first sample that can still play at this moment: rounded up, since no sample plays before it came."""
        return max(0, -((self._origin - at) * self._rate_hz // SECOND))
