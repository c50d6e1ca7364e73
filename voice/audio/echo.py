"""The agent's own voice, taken out of what the microphone heard.

Positions rule: sample ``k`` of what comes out is sample ``k`` of what went in, only some milliseconds later while the
agent can be heard, and at once while it can not. Then the audio passes untouched, bit by bit.
"""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Ns
from turngap.voice.audio.echo_presence import EchoPresence
from turngap.voice.audio.far_end import FarEnd
from turngap.voice.audio.resample import Resampler

ECHO_RATE_HZ: Final = 16_000
BLOCK: Final = ECHO_RATE_HZ // 100

TAIL: Final[Ns] = 1500 * MS
"""After its last sample the agent may still be heard: transport, the client's buffer, and a room that rings."""

EARLY: Final[Ns] = 10 * MS
LATE: Final[Ns] = 150 * MS
"""How far the client's samples may stray from the clock before they are set against the far end anew. A step of the
delay costs the canceller its bearings, so it is made only where an echo would come before its cause, or where the
client had stopped sending."""


class Canceller(Protocol):
    """A library's echo canceller. It keeps state; one for each conversation."""

    @property
    def delay(self) -> int:
        """How many samples what comes out lags behind what went in."""
        ...

    def cancel(self, near: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.float32]:
        """10 ms (160 samples, 16 kHz) of the microphone without the far end. Blocks come in order."""
        ...


class EchoCanceller:
    """The echo of one conversation: tell it what is sent to the client, and pass it what the client sends."""

    def __init__(self, rate_hz: int, canceller: Canceller) -> None:
        self._rate_hz = rate_hz
        self._far_end = FarEnd(rate_hz)
        self._near = Resampler(rate_hz, ECHO_RATE_HZ)
        self._far = Resampler(rate_hz, ECHO_RATE_HZ)
        self._cleaning = Cleaning(canceller)
        self._due: Ns | None = None

    def played(self, samples: NDArray[np.float32], at: Ns) -> None:
        """Note that ``samples``, at the client's rate, were sent at this moment, to be played when it is their turn."""
        self._far_end.sent(samples, at)

    def cleared(self, at: Ns) -> None:
        """Note that the client was asked at this moment to drop what it has not played."""
        self._far_end.cleared(at)

    def clean(self, samples: NDArray[np.float32], at: Ns) -> NDArray[np.float32]:
        """The microphone at 16 kHz without the agent. ``at`` is when the first of ``samples`` arrived; what was played
        before the last of them must have been noted."""
        active = self._far_end.audible_since(at - TAIL)
        if self._due is None or not active or not -EARLY < at - self._due < LATE:
            self._due = at
        far = self._far_end.during(self._due, len(samples))
        self._due += len(samples) * SECOND // self._rate_hz
        # The same filter on pieces of the same length: what belongs together stays together.
        return self._cleaning.feed(self._near.feed(samples), self._far.feed(far), active=active)


class Cleaning:
    """Cuts both ends into blocks, takes the canceller's delay back, and leaves alone what holds no echo."""

    def __init__(self, canceller: Canceller) -> None:
        self._canceller = canceller
        self._presence = EchoPresence()
        self._untold = np.zeros(0, np.float32)
        """The microphone from the first sample that has not been returned."""
        self._near = np.zeros(0, np.float32)
        self._far = np.zeros(0, np.float32)

    def feed(self, near: NDArray[np.float32], far: NDArray[np.float32], *, active: bool) -> NDArray[np.float32]:
        """What can be said of the microphone so far, from where the last call ended."""
        self._untold = np.concatenate([self._untold, near])
        if not active:
            self._near = self._far = np.zeros(0, np.float32)
            told, self._untold = self._untold, np.zeros(0, np.float32)
            return told
        self._near = np.concatenate([self._near, near])
        self._far = np.concatenate([self._far, far])
        blocks = [self._block() for _ in range(len(self._near) // BLOCK)]
        return np.concatenate([np.zeros(0, np.float32), *blocks])

    def _block(self) -> NDArray[np.float32]:
        near, self._near = self._near[:BLOCK], self._near[BLOCK:]
        far, self._far = self._far[:BLOCK], self._far[BLOCK:]
        self._presence.feed(near, far)
        cleaned = self._canceller.cancel(near, far)
        # This block ends where what waits for its block begins, and its cleaned form `delay` earlier.
        count = max(0, len(self._untold) - len(self._near) - self._canceller.delay)
        raw, self._untold = self._untold[:count], self._untold[count:]
        return cleaned[BLOCK - count :] if self._presence.present else raw
