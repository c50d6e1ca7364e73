"""From packets of audio to onsets and pauses, each with its moment.

One conversation's ear: any rate in, 16 kHz frames to the voice detector, its probabilities to the endpointing
policy. Positions in the audio become moments of the clock here, and nowhere else.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Clock, Ns
from turngap.budget.marks import Span, Stage
from turngap.voice.audio.echo import Canceller, EchoCanceller
from turngap.voice.audio.level import LEVEL_BLOCK_MS, Offset, block_levels
from turngap.voice.audio.log import AudioLog
from turngap.voice.audio.media_clock import MediaClock
from turngap.voice.audio.resample import Resampler
from turngap.voice.endpointing.protocol import (
    FRAME_SAMPLES,
    VAD_RATE_HZ,
    Endpointing,
    Floor,
    Frame,
    Pause,
    VoiceActivity,
)
from turngap.voice.endpointing.stillness import Stillness
from turngap.voice.protocols.door import Door
from turngap.voice.protocols.overheard import OverheardDoor

BLOCK = VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000
REFRESHING_FRAMES: Final = 4
"""That the detector is given first where it was not asked for a while: with fewer it notices a voice one frame later in
every tenth recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """An onset or a pause, and the work that it took to notice it."""

    floor: Floor
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listened:
    """A frame, and what it settled."""

    frame: Frame
    noticed: tuple[Noticed, ...]


class Hearing:
    """The ear of one conversation. Feed it packets in order; it keeps the audio in :attr:`log`."""

    def __init__(
        self,
        rate_hz: int,
        activity: VoiceActivity,
        endpointing: Endpointing,
        clock: Clock,
        *,
        canceller: Canceller | None = None,
    ) -> None:
        self.log = AudioLog()
        self.rate_hz = rate_hz
        self._activity = activity
        self._endpointing = endpointing
        self._clock = clock
        self._media = MediaClock(rate_hz)
        self._resampler = Resampler(rate_hz, VAD_RATE_HZ)
        self._echo = EchoCanceller(rate_hz, canceller) if canceller is not None else None
        self._offset = Offset()
        self._stillness = Stillness()
        self._unasked = 0
        self._received = 0
        self._framed = 0

    def follow(self, endpointing: Endpointing) -> None:
        """From the next frame on this policy tells onsets and pauses."""
        self._endpointing = endpointing

    def overhear(self, door: Door) -> Door:
        """The door to speak through, so that this ear can tell the agent's voice from the user's."""
        return door if self._echo is None else OverheardDoor(door, self._echo, self._clock)

    def moment(self, sample: int) -> Ns:
        """When the 16 kHz sample arrived, or will."""
        return self._media.moment(sample * self.rate_hz // VAD_RATE_HZ)

    async def feed(self, samples: NDArray[np.float32], at: Ns) -> AsyncIterator[Listened]:
        """Take a packet that was read at ``at``; tell what each frame that it completes settles."""
        self._received += len(samples)
        self._media.arrived(self._received, at)
        if self._echo is None:
            self.log.append(self._resampler.feed(samples))
        else:
            self.log.append(self._echo.clean(samples, self._media.moment(self._received - len(samples))))
        while self.log.end - self._framed >= FRAME_SAMPLES:
            self._framed += FRAME_SAMPLES
            began = self._clock()
            levels_db = self._levels(self._framed)
            probability = await self._probability(levels_db)
            span = Span(stage=Stage.ENDPOINTING, start=began, end=self._clock(), what="vad")
            frame = Frame(end=self._framed, probability=probability, levels_db=levels_db)
            noticed = tuple(
                Noticed(floor=floor, spans=self._spans(floor, span)) for floor in self._endpointing.feed(frame)
            )
            yield Listened(frame=frame, noticed=noticed)

    async def _probability(self, levels_db: tuple[float, ...]) -> float:
        if self._stillness.holds(levels_db):
            self._unasked = min(self._unasked + 1, REFRESHING_FRAMES)
            return 0.0
        for ago in range(self._unasked, 0, -1):  # what the detector knows of the room is old
            await self._activity.probability(self._frame(ago))
        self._unasked = 0
        probability = await self._activity.probability(self._frame(0))
        self._stillness.learn(levels_db, probability)
        return probability

    def _frame(self, ago: int) -> NDArray[np.float32]:
        end = self._framed - ago * FRAME_SAMPLES
        return self.log.slice(end - FRAME_SAMPLES, end)

    def _spans(self, floor: Floor, vad: Span) -> tuple[Span, ...]:
        if not isinstance(floor, Pause):
            return (vad,)
        # The detector had to wait for the audio that shows the silence, and for the packet that brought it.
        waited = Span(
            stage=Stage.ENDPOINTING,
            start=self.moment(floor.speech_end),
            end=self._media.moment(self._received),
            what="listening",
        )
        return (waited, vad)

    def _levels(self, end: int) -> tuple[float, ...]:
        """Levels of the 10 ms blocks that end in the frame before ``end``; frames and blocks do not line up."""
        first, last = (end - FRAME_SAMPLES) // BLOCK, end // BLOCK
        offset = np.float32(self._offset.of(self.log.slice(end - FRAME_SAMPLES, end)))
        return tuple(block_levels(self.log.slice(first * BLOCK, last * BLOCK) - offset, BLOCK))
