"""Levels, the media clock, the log, conversion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS, SECOND
from turngap.voice.audio.level import Offset, block_levels, first_audible, last_voiced_block, voiced_threshold_db
from turngap.voice.audio.log import AudioLog
from turngap.voice.audio.media_clock import MediaClock
from turngap.voice.audio.pcm import from_pcm16, to_pcm16
from turngap.voice.audio.resample import Resampler

RATE = 16_000
PACKET = 320


def tone(seconds: float, level: float = 0.1, rate: int = RATE) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return (level * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


@given(st.integers(0, 4000))
def test_the_first_audible_sample_is_found_wherever_it_is(silence: int) -> None:
    found = first_audible(np.concatenate([np.zeros(silence, np.float32), tone(0.1)]), RATE)
    assert found is not None
    assert 0 <= found - silence <= 3, "a sine needs a few samples to rise above the threshold"


def test_quiet_noise_is_not_audible() -> None:
    assert first_audible(np.full(RATE, 0.004, np.float32), RATE) is None


def test_audibility_can_be_asked_from_a_sample_on() -> None:
    audio = np.concatenate([tone(0.1), np.zeros(800, np.float32), tone(0.1)])
    found = first_audible(audio, RATE, start=1700)
    assert found is not None
    assert 2400 <= found <= 2403


def test_digital_silence_has_a_level() -> None:
    assert block_levels(np.zeros(320, np.float32), 160).tolist() == [-100.0, -100.0]


def test_what_is_constant_is_known_at_once_and_followed() -> None:
    offset = Offset()
    assert offset.of(np.full(512, 0.1, np.float32)) == pytest.approx(0.1)
    told = [offset.of(np.full(512, 0.3, np.float32)) for _ in range(100)]
    assert told == sorted(told)
    assert told[-1] == pytest.approx(0.3, abs=0.002)


def test_a_low_voice_is_not_taken_for_a_constant() -> None:
    offset = Offset()
    voice = (0.3 * np.sin(2 * np.pi * 85 * np.arange(32_000) / 16_000)).astype(np.float32)
    for frame in np.split(voice[: 62 * 512], 62):
        assert abs(offset.of(frame)) < 0.03


def test_voiced_is_above_the_floor_and_not_far_below_the_loud() -> None:
    assert voiced_threshold_db(-60, -20) == -50
    assert voiced_threshold_db(-40, -20) == -32
    assert last_voiced_block([-60.0, -20.0, -49.0, -51.0], -50) == 2
    assert last_voiced_block([-60.0], -50) is None


def arrive(clock: MediaClock, start: int, delays: list[int], begin: int = 0) -> None:
    for index, delay in enumerate(delays):
        end = (start + index + 1) * PACKET
        clock.arrived(end, begin + end * SECOND // RATE + delay)


@given(st.lists(st.integers(0, 300 * MS), min_size=1, max_size=100))
def test_a_loop_that_stalls_does_not_shift_the_moments(delays: list[int]) -> None:
    clock = MediaClock(RATE)
    arrive(clock, 0, [0, *delays])
    last = (len(delays) + 1) * PACKET
    assert clock.moment(last) == last * SECOND // RATE


def test_a_client_that_stopped_sending_begins_a_new_pace() -> None:
    clock = MediaClock(RATE)
    arrive(clock, 0, [0] * 10)
    arrive(clock, 10, [5 * SECOND] * 2)
    assert clock.moment(12 * PACKET) == 12 * PACKET * SECOND // RATE + 5 * SECOND


def test_old_packets_do_not_rule_for_ever() -> None:
    clock = MediaClock(RATE)
    arrive(clock, 0, [0])
    arrive(clock, 1, [20 * MS] * 300)
    assert clock.moment(301 * PACKET) == 301 * PACKET * SECOND // RATE + 20 * MS


def test_a_clock_without_packets_knows_no_moments() -> None:
    with pytest.raises(ValueError, match="no packet"):
        MediaClock(RATE).moment(0)


@given(st.lists(st.integers(0, 70_000), max_size=12), st.integers(0, 300_000))
def test_the_log_gives_back_what_it_was_given(sizes: list[int], forgotten: int) -> None:
    log, everything = AudioLog(), np.arange(sum(sizes), dtype=np.float32)
    at = 0
    for size in sizes:
        log.append(everything[at : at + size])
        at += size
        log.forget_before(min(at, forgotten))
    assert log.end == at
    kept = min(at, forgotten)
    assert np.array_equal(log.slice(kept, at), everything[kept:at])
    assert len(log.slice(at, at + 10)) == 0


def test_pcm_survives_the_round_trip() -> None:
    samples = tone(0.05)
    assert np.allclose(from_pcm16(to_pcm16(samples)), samples, atol=1e-4)
    assert to_pcm16(np.array([2.0, -2.0], np.float32)) == to_pcm16(np.array([1.0, -1.0], np.float32))
    stereo = to_pcm16(np.array([0.5, 0.0, 0.5, 0.0], np.float32))
    assert np.allclose(from_pcm16(stereo, 2), [0.25, 0.25], atol=1e-4)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
def test_conversion_does_not_move_sounds_in_time(rate: int) -> None:
    click = np.concatenate([np.zeros(rate // 2, np.float32), tone(0.2, rate=rate)])
    resampler = Resampler(rate, RATE)
    pieces = [resampler.feed(click[at : at + rate // 50]) for at in range(0, len(click), rate // 50)]
    out = np.concatenate([*pieces, resampler.flush()])
    found = first_audible(out, RATE)
    assert found is not None
    assert abs(found - RATE // 2) <= RATE * 6 // 1000
    assert abs(len(out) - len(click) * RATE // rate) <= 1
