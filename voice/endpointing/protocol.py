"""What hearing the user's floor is to the rest: frames of voice probability in, onsets and pauses out.

A detector (:class:`VoiceActivity`) is an adapter to a model; a policy (:class:`Endpointing`) is pure: it is given
frames that carry their position in the audio and answers with onsets and pauses in the same unit, so that it can
be replayed from a recorded trace, and its answers do not depend on how the audio was cut.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

VAD_RATE_HZ = 16_000
FRAME_SAMPLES = 512
"""32 ms at 16 kHz: what Silero VAD works on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of the user's audio: where it ends (in 16 kHz samples from the start of the stream), the
    probability that it holds a voice, and its levels in dBFS, one for each 10 ms block that ended in it."""

    end: int
    probability: float
    levels_db: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """A voice began at sample ``start``."""

    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The voice is gone since sample ``speech_end`` (one past the last voiced sample); if it stays away until
    sample ``endpoint``, the turn is over. ``reason`` names the wait, for the ledger."""

    speech_end: int
    endpoint: int
    reason: str = "hangover"


Floor: TypeAlias = Onset | Pause


class VoiceActivity(Protocol):
    """The voice detector of one conversation; it keeps state from frame to frame."""

    async def probability(self, frame: NDArray[np.float32]) -> float:
        """The chance that this frame (512 samples, 16 kHz, -1 to 1) holds a voice. Raises StageError."""
        ...


class Endpointing(Protocol):
    """A policy that tells onsets and pauses from frames. Pure; one for each conversation."""

    def feed(self, frame: Frame) -> list[Floor]:
        """What this frame settles. Frames come in order, without holes."""
        ...

    def end(self) -> list[Floor]:
        """No audio comes any more, for now at least: a voice that was there has paused, and its turn is over."""
        ...
