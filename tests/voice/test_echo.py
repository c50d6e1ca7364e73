"""The agent's own voice, taken out: positions and moments, with a canceller whose answers are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Ns
from turngap.voice.audio.echo import BLOCK, Cleaning, EchoCanceller
from turngap.voice.audio.resample import Resampler


class Subtracting:
    """Takes the far end away as it is, and like a real one is late with the answer."""

    def __init__(self, delay: int = 100) -> None:
        self.delay = delay
        self._late = np.zeros(delay, np.float32)
        self.calls = 0

    def cancel(self, near: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.float32]:
        assert len(near) == len(far) == BLOCK
        self.calls += 1
        known = np.concatenate([self._late, near - far])
        self._late = known[BLOCK:]
        return known[:BLOCK]


def sound(length: int, seed: int = 0) -> NDArray[np.float32]:
    return (0.1 * np.random.default_rng(seed).normal(size=length)).astype(np.float32)


@given(st.lists(st.tuples(st.integers(0, 700), st.booleans()), max_size=30), st.integers(0, BLOCK))
def test_every_sample_comes_out_once_and_in_its_place(pieces: list[tuple[int, bool]], delay: int) -> None:
    """However the audio is cut, and whenever the agent begins and ends to be heard."""
    microphone = sound(sum(length for length, _ in pieces))
    cleaning, at, out = Cleaning(Subtracting(delay)), 0, [np.zeros(0, np.float32)]
    for length, active in pieces:
        out.append(cleaning.feed(microphone[at : at + length], np.zeros(length, np.float32), active=active))
        at += length
        told = sum(map(len, out))
        assert at - told < delay + BLOCK if active else told == at
    assert np.array_equal(np.concatenate(out), microphone[: sum(map(len, out))])


@given(st.lists(st.integers(1, 700), min_size=5, max_size=30))
def test_the_echo_is_gone_however_the_audio_is_cut(lengths: list[int]) -> None:
    voice, echo = sound(sum(lengths), 1), sound(sum(lengths), 2)
    cleaning, at, out = Cleaning(Subtracting()), 0, [np.zeros(0, np.float32)]
    for length in lengths:
        part = slice(at, at + length)
        out.append(cleaning.feed(voice[part] + echo[part], echo[part], active=True))
        at += length
    clean = np.concatenate(out)
    assert clean == pytest.approx(voice[: len(clean)], abs=1e-6)


def listen(
    echo: EchoCanceller, microphone: NDArray[np.float32], rate_hz: int, *, start: Ns = 0, late: Ns = 0
) -> NDArray[np.float32]:
    """Packets of 20 ms from ``start`` on; their moments are ``late``."""
    packet = rate_hz // 50
    return np.concatenate(
        [
            echo.clean(microphone[at : at + packet], start + late + at * SECOND // rate_hz)
            for at in range(0, len(microphone), packet)
        ]
    )


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
def test_the_far_end_of_a_moment_meets_the_microphone_of_that_moment(rate_hz: int) -> None:
    """At any rate of the client's; what was sent ahead is expected when it is played."""
    reply = sound(rate_hz, 3)
    echo = EchoCanceller(rate_hz, Subtracting())
    echo.played(reply, at=200 * MS)
    microphone = np.zeros(2 * rate_hz, np.float32)
    microphone[rate_hz // 5 : rate_hz // 5 + rate_hz] = reply
    assert np.max(np.abs(listen(echo, microphone, rate_hz))) < 1e-4


def test_after_a_clear_silence_is_expected() -> None:
    reply, voice = sound(16_000, 3), sound(16_000, 4)
    echo = EchoCanceller(16_000, Subtracting())
    echo.played(reply, at=0)
    echo.cleared(at=400 * MS)
    heard = voice.copy()
    heard[:6400] += reply[:6400]
    clean = listen(echo, heard, 16_000)
    assert clean == pytest.approx(voice[: len(clean)], abs=1e-6)


def test_a_silent_agent_costs_nothing_and_changes_nothing() -> None:
    canceller = Subtracting()
    microphone = sound(24_000)
    clean = listen(EchoCanceller(24_000, canceller), microphone, 24_000)
    assert canceller.calls == 0
    assert np.array_equal(clean, Resampler(24_000, 16_000).feed(microphone)[: len(clean)])


def test_the_voice_comes_back_untouched_when_the_agent_has_ended() -> None:
    canceller = Subtracting()
    echo = EchoCanceller(16_000, canceller)
    echo.played(sound(16_000), at=0)
    microphone = sound(64_000, 1)
    clean = listen(echo, microphone, 16_000)
    assert len(clean) == len(microphone), "nothing is held back any more"
    assert np.array_equal(clean[-16_000:], microphone[-16_000:])
    assert canceller.calls < 300


def test_jitter_does_not_move_the_far_end() -> None:
    """The moments of packets stray by some milliseconds; a canceller would lose its bearings each time."""
    reply = sound(16_000, 3)
    echo = EchoCanceller(16_000, Subtracting())
    echo.played(reply, at=0)
    strays = np.random.default_rng(0).integers(0, 100, 50)
    clean = []
    for index, stray in enumerate(strays):
        at = index * 20 * MS + (0 if index == 0 else int(stray) * MS)
        clean.append(echo.clean(reply[index * 320 : (index + 1) * 320], at))
    assert np.max(np.abs(np.concatenate(clean))) < 1e-6


@pytest.mark.parametrize("step", [-20 * MS, 400 * MS])
def test_a_client_whose_audio_made_a_step_is_followed(step: Ns) -> None:
    reply = sound(32_000, 3)
    echo = EchoCanceller(16_000, Subtracting())
    echo.played(reply, at=0)
    listen(echo, reply[:16_000], 16_000)
    shift = step * 16_000 // SECOND
    rest = reply[16_000 + shift : 16_000 + shift + 8000]
    assert np.max(np.abs(listen(echo, rest, 16_000, start=SECOND, late=step)[BLOCK:])) < 1e-6
