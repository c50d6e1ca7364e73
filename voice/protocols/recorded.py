"""A door beside which a tape runs: both sides of a turn, on one clock, for whoever asked that audio be kept."""

import io
from collections.abc import Callable
from typing import Final

import numpy as np
import soundfile
from numpy.typing import NDArray

from turngap.budget.clock import SECOND, Clock
from turngap.budget.store.changes import Audio
from turngap.voice.protocols.door import Door, Packet, Wish
from turngap.voice.protocols.passing import PassingDoor

LONGEST_S: Final = 60
"""Of silence and speech before the end of a turn, at most."""

Piece = tuple[int, NDArray[np.float32]]
"""Where in the recording it begins, in samples, and what is heard."""


class RecordedDoor(PassingDoor):
    """Passes everything on to ``door``, and remembers what was heard since :meth:`take` was called."""

    def __init__(self, door: Door, clock: Clock) -> None:
        super().__init__(door)
        self._clock = clock
        self._epoch = clock()
        self._user: list[Piece] = []
        self._agent: list[Piece] = []
        self._said_until = 0
        self._heard_until = 0

    def take(self) -> Callable[[], Audio | None]:
        """What was heard so far, to be made a file of by another thread; a new recording begins."""
        user, agent, rate_hz = self._user, self._agent, self.rate_hz
        self._user, self._agent = [], []
        return lambda: tape(user, agent, rate_hz)

    async def packet(self) -> Packet | Wish | None:
        packet = await super().packet()
        if isinstance(packet, Packet):
            # A packet has been spoken before it comes, and none overlaps the one before it.
            start = max(self._heard_until, self._position() - len(packet.samples))
            self._heard_until = start + len(packet.samples)
            self._user.append((start, packet.samples))
            self._forget(self._user)
        return packet

    async def audio(self, samples: NDArray[np.float32]) -> None:
        start = max(self._said_until, self._position())
        self._said_until = start + len(samples)
        self._agent.append((start, samples))
        await super().audio(samples)

    async def clear(self) -> None:
        now = self._position()
        self._agent = [(at, samples[: now - at]) for at, samples in self._agent if at < now]
        self._said_until = min(self._said_until, now)
        await super().clear()

    def _position(self) -> int:
        return (self._clock() - self._epoch) * self.rate_hz // SECOND

    def _forget(self, pieces: list[Piece]) -> None:
        oldest = pieces[-1][0] - LONGEST_S * self.rate_hz
        if pieces[0][0] < oldest - self.rate_hz:  # a second at once
            pieces[:] = [piece for piece in pieces if piece[0] >= oldest]


def tape(user: list[Piece], agent: list[Piece], rate_hz: int) -> Audio | None:
    """Both sides as one stereo FLAC, the user on the left; None where nothing was heard."""
    if not user and not agent:
        return None
    start = min(at for at, _ in user + agent)
    end = max(at + len(samples) for at, samples in user + agent)
    tracks = np.zeros((end - start, 2), np.float32)
    for side, pieces in enumerate((user, agent)):
        for at, samples in pieces:
            tracks[at - start : at - start + len(samples), side] = samples
    out = io.BytesIO()
    soundfile.write(out, tracks, rate_hz, format="FLAC", subtype="PCM_16")
    return Audio(type="audio/flac", content=out.getvalue())
