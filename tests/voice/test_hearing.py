"""One conversation's ear: what it makes of a microphone that is not as it should be."""

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.budget.clock import SECOND
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, Floor, Frame, Onset, Pause
from turngap.voice.hearing import REFRESHING_FRAMES, Hearing

RATE_HZ = 16_000


class Sure:
    """A detector that knows where the voice is, whatever it is given."""

    def __init__(self, start_s: float, end_s: float) -> None:
        self._voiced = range(round(start_s * RATE_HZ), round(end_s * RATE_HZ))
        self._at = 0

    async def probability(self, frame: NDArray[np.float32]) -> float:
        self._at += len(frame)
        return 0.95 if self._at in self._voiced else 0.02


def spoken() -> NDArray[np.float32]:
    """A voice from 1.0 to 2.0 s in a quiet room, 3 s in all."""
    track = np.random.default_rng(0).normal(0, 0.0005, 3 * RATE_HZ)
    track[RATE_HZ : 2 * RATE_HZ] += np.random.default_rng(1).normal(0, 0.05, RATE_HZ)
    return track.astype(np.float32)


def listen(samples: NDArray[np.float32], *, packet: int = 320) -> tuple[list[Frame], list[Floor]]:
    """Everything that is noticed in a recording; the detector holds on for 150 ms, as they do."""
    frames: list[Frame] = []
    floors: list[Floor] = []

    async def run() -> None:
        hearing = Hearing(RATE_HZ, Sure(1.0, 2.15), Hangover(), lambda: 0)
        for start in range(0, len(samples), packet):
            piece = samples[start : start + packet]
            async for listened in hearing.feed(piece, (start + len(piece)) * SECOND // RATE_HZ):
                frames.append(listened.frame)
                floors.extend(noticed.floor for noticed in listened.noticed)

    asyncio.run(run())
    return frames, floors


def test_the_end_of_the_speech_is_found_beside_a_constant() -> None:
    for constant in (0.0, 0.1, -0.3):
        _, floors = listen(spoken() + np.float32(constant))
        pauses = [floor for floor in floors if isinstance(floor, Pause)]
        assert [pause.speech_end / RATE_HZ for pause in pauses] == pytest.approx([2.0], abs=0.011)


def test_levels_do_not_depend_on_how_the_audio_was_cut() -> None:
    shifted = spoken() + np.float32(0.1)
    whole, _ = listen(shifted, packet=len(shifted))
    cut, _ = listen(shifted, packet=333)
    assert cut == whole


class Level:
    """A detector that goes by the level, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[NDArray[np.float32]] = []

    async def probability(self, frame: NDArray[np.float32]) -> float:
        self.asked.append(frame)
        return 0.95 if float(np.abs(frame).mean()) > 0.01 else 0.02


def test_a_still_room_is_not_asked_about_and_a_voice_in_it_is_heard_at_once() -> None:
    detector = Level()
    onsets: list[int] = []
    track = np.random.default_rng(0).normal(0, 0.0005, 12 * RATE_HZ).astype(np.float32)
    track[10 * RATE_HZ : 11 * RATE_HZ] += np.random.default_rng(1).normal(0, 0.05, RATE_HZ).astype(np.float32)

    async def run() -> None:
        hearing = Hearing(RATE_HZ, detector, Hangover(), lambda: 0)
        for start in range(0, len(track), 320):
            async for listened in hearing.feed(track[start : start + 320], (start + 320) * SECOND // RATE_HZ):
                onsets.extend(each.floor.start for each in listened.noticed if isinstance(each.floor, Onset))

    asyncio.run(run())
    frames = len(track) // FRAME_SAMPLES
    assert len(detector.asked) < frames // 2
    assert [start / RATE_HZ for start in onsets] == pytest.approx([10.0], abs=0.04)
    first = next(number for number, frame in enumerate(detector.asked) if np.abs(frame).mean() > 0.01)
    at = int(onsets[0]) // FRAME_SAMPLES * FRAME_SAMPLES
    before = np.concatenate(detector.asked[first - REFRESHING_FRAMES : first])
    assert np.array_equal(before, track[at - len(before) : at])  # what it knows of the room is fresh
