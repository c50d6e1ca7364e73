"""What hearing the user's floor is to the rest: frames of voice probability in, onsets, pauses and endpoints out.

Models are adapters: a detector (:class:`VoiceActivity`), and a turn-end model (:class:`TurnEndModel`) for policies that
:class:`Ask`. A policy (:class:`Endpointing`) is pure: it is given frames and evidence that carry their position in the
audio and answers in the same unit, so that it can be replayed from a recorded trace, and its answers do not depend on
how the audio was cut.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turngap.budget.marks import Span

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
class Fading:
    """A voice that was there up to sample ``end`` may be gone, or is in the middle of a word: what takes time to get
    ready for a pause may begin."""

    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The voice is gone since sample ``speech_end`` (one past the last voiced sample); if it stays away until
    sample ``endpoint``, the turn is over. ``reason`` names the wait, for the ledger."""

    speech_end: int
    endpoint: int
    reason: str = "hangover"
    probability: float | None = None
    """The chance that the turn is over already; None from a policy that knows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconsidered:
    """The present pause has another endpoint, since ``reason``: earlier, later, or after all not yet."""

    endpoint: int
    reason: str
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the turn-end model thinks of the audio up to sample ``end`` would be good to know."""

    end: int


Floor: TypeAlias = Onset | Fading | Pause | Reconsidered | Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """The turn-end model's answer: the ``probability`` that a turn ends with sample ``end``."""

    end: int
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the user has said in this turn, up to sample ``end``."""

    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpeaks:
    """Whether the agent is speaking from now on; the user's voice is then a contest for the floor."""

    speaks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSaid:
    """What the user has heard the agent say last: perhaps a question, which has its own kind of answer."""

    text: str


Evidence: TypeAlias = TurnEnd | Words | AgentSpeaks | AgentSaid


class VoiceActivity(Protocol):
    """The voice detector of one conversation; it keeps state from frame to frame."""

    async def probability(self, frame: NDArray[np.float32]) -> float:
        """The chance that this frame (512 samples, 16 kHz, -1 to 1) holds a voice. Raises StageError."""
        ...


class TurnEndModel(Protocol):
    """Tells the end of a turn from a breath, by how it sounds. One for all conversations."""

    async def judge(self, audio: NDArray[np.float32]) -> tuple[float, Span]:
        """The chance that a turn ends with ``audio`` (16 kHz, -1 to 1, its last seconds count), and the work it took.
        Raises StageError."""
        ...


class Endpointing(Protocol):
    """A policy that tells onsets, pauses and endpoints. Pure; one for each conversation."""

    def feed(self, frame: Frame) -> list[Floor]:
        """What this frame settles. Frames come in order, without holes."""
        ...

    def told(self, evidence: Evidence) -> list[Floor]:
        """What follows from ``evidence``, which belongs to the present pause; none is also an answer."""
        ...

    def end(self) -> list[Floor]:
        """No audio comes any more, for now at least: a voice that was there has paused, and its turn is over."""
        ...
