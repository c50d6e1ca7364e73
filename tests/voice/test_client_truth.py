"""Where the user's speech ends, in recordings that are made so that it is known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.voice.client import room_tone
from turngap.voice.client.truth import (
    Utterance,
    first_voiced_s,
    last_voiced_s,
    one_turn,
    probabilities,
    segments,
    utterances,
)
from turngap.voice.endpointing.protocol import FRAME_SAMPLES

RATE_HZ = 16_000


def noise(seconds: float, level: float, seed: int = 1) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).standard_normal(round(seconds * RATE_HZ)) * level).astype(np.float32)


def speech(*loud_s: tuple[float, float], seconds: float = 5.0, floor: float = 0.001) -> NDArray[np.float32]:
    track = noise(seconds, floor)
    for start, end in loud_s:
        first, last = round(start * RATE_HZ), round(end * RATE_HZ)
        track[first:last] += noise((last - first) / RATE_HZ, 0.1, seed=2)[: last - first]
    return track


def voiced(*frames: tuple[int, int], count: int = 160) -> NDArray[np.float64]:
    voice = np.zeros(count)
    for start, end in frames:
        voice[start:end] = 0.9
    return voice


def test_a_segment_begins_at_a_sure_frame_and_ends_at_a_doubtful_one() -> None:
    voice = np.array([0.4, 0.5, 0.4, 0.36, 0.34, 0.45, 0.1, 0.6])
    assert segments(voice) == [(0.032, 0.128), (0.224, 0.256)]


def test_the_end_is_refined_by_energy_to_ten_milliseconds() -> None:
    track = speech((1.0, 2.53))
    for near_s in (2.4, 2.53, 2.7, 2.9):
        assert last_voiced_s(track, RATE_HZ, near_s=near_s) == pytest.approx(2.53)


def test_sound_far_beyond_the_voice_is_not_speech() -> None:
    track = speech((1.0, 2.5), (3.2, 3.3))
    assert last_voiced_s(track, RATE_HZ, near_s=2.55) == pytest.approx(2.5)


def test_where_all_is_quiet_no_end_is_made_up() -> None:
    assert last_voiced_s(speech((1.0, 2.0)), RATE_HZ, near_s=4.0) is None
    assert last_voiced_s(np.zeros(10, np.float32), RATE_HZ, near_s=0.0) is None


@pytest.mark.parametrize("rate_hz", [8_000, 22_050, 44_100, 48_000])
def test_the_end_is_the_same_at_every_rate(rate_hz: int) -> None:
    times = np.arange(round(12.0 * rate_hz)) / rate_hz
    track = np.where((times > 1.0) & (times < 11.0), 0.2 * np.sin(times * 2000), 0.0).astype(np.float32)
    end = last_voiced_s(track, rate_hz, near_s=11.05)
    assert end == pytest.approx(11.0, abs=0.011)


def test_short_pauses_stay_within_a_turn_and_long_ones_part_turns() -> None:
    track = speech((0.32, 0.96), (1.28, 1.92), (4.0, 4.48))
    found = utterances(track, RATE_HZ, voiced((10, 30), (40, 60), (125, 140)))
    assert [(round(each.start_s, 2), round(each.end_s, 2)) for each in found] == [(0.32, 1.92), (4.0, 4.48)]


def test_a_label_overrules_what_was_found() -> None:
    found = [Utterance(start_s=0.5, end_s=2.0)]
    assert one_turn(found, label_s=1.9) == Utterance(start_s=0.5, end_s=1.9, labelled=True)
    assert one_turn([], label_s=1.9) == Utterance(start_s=0.0, end_s=1.9, labelled=True)


def test_without_a_label_one_turn_lasts_from_the_first_voice_to_the_last() -> None:
    found = [Utterance(start_s=0.5, end_s=2.0), Utterance(start_s=4.0, end_s=5.0)]
    assert one_turn(found, label_s=None) == Utterance(start_s=0.5, end_s=5.0)
    assert one_turn([], label_s=None) is None


def test_the_detector_is_given_whole_frames_at_its_own_rate() -> None:
    lengths: list[int] = []

    def detect(frame: NDArray[np.float32]) -> float:
        lengths.append(len(frame))
        return 0.5

    assert len(probabilities(np.zeros(48_000, np.float32), 48_000, detect)) == 32
    assert set(lengths) == {FRAME_SAMPLES}


def test_room_tone_is_the_quietest_stretch_outside_the_speech() -> None:
    track = speech((2.0, 3.0), (4.2, 4.4), seconds=8.0)
    tone = room_tone.find(track, RATE_HZ, start_s=2.0, end_s=3.0)
    assert tone is not None
    assert np.abs(tone).max() < 0.01


def test_a_recording_without_quiet_has_no_room_tone() -> None:
    assert room_tone.find(speech((0.0, 5.0)), RATE_HZ, start_s=0.0, end_s=5.0) is None


def test_digital_silence_is_not_taken_for_room_tone() -> None:
    track = np.concatenate([np.zeros(32_000, np.float32), noise(1.0, 0.1)])
    assert room_tone.find(track, RATE_HZ, start_s=2.0, end_s=3.0) is None


def test_looped_room_tone_has_no_seam() -> None:
    times = np.arange(RATE_HZ, dtype=np.float32) / RATE_HZ
    tone = np.sin(times * 2 * np.pi * 50.3).astype(np.float32) * 0.01
    looped = np.tile(room_tone.loop(tone, RATE_HZ), 3)
    steepest = 0.01 * 2 * np.pi * 50.3 / RATE_HZ
    assert np.abs(np.diff(looped)).max() < 2.5 * steepest


def test_an_exact_clip_ends_where_it_says() -> None:
    track = speech((1.0, 2.534), seconds=4.0)
    made = room_tone.exact(track, RATE_HZ, start_s=1.0, end_s=2.53)
    assert made is not None
    assert made.speech_end_s == 2.53
    cut = round(2.53 * RATE_HZ)
    assert np.abs(made.samples[cut:]).max() < 0.01, "not one loud sample beyond the end"
    assert np.array_equal(made.samples[: cut - 32], track[: cut - 32]), "the speech itself is untouched"
    assert len(made.samples) == cut + 3 * RATE_HZ
    assert last_voiced_s(made.samples, RATE_HZ, near_s=2.6) == pytest.approx(2.53)


def test_no_exact_clip_without_quiet_to_follow() -> None:
    assert room_tone.exact(speech((0.0, 5.0)), RATE_HZ, start_s=0.0, end_s=5.0) is None


def test_the_voice_begins_where_the_run_of_loud_blocks_begins() -> None:
    track = speech((1.0, 1.2), (1.22, 2.0), (0.3, 0.5), seconds=4.0)
    assert first_voiced_s(track, RATE_HZ, near_s=1.3) == pytest.approx(1.0), "a hole of 20 ms is none"
    assert first_voiced_s(track, RATE_HZ, near_s=0.9) == pytest.approx(1.0), "the detector may be early"
    assert first_voiced_s(track, RATE_HZ, near_s=2.5) is None
    assert first_voiced_s(speech((0.0, 1.0)), RATE_HZ, near_s=0.5) == 0.0
    assert first_voiced_s(np.zeros(10, np.float32), RATE_HZ, near_s=0.0) is None
