"""Silence around synthesised audio: none before, a pause of stated length after, however it arrives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from turngap.voice.audio.level import first_audible
from turngap.voice.tts.trim import LEAST_FIRST_MS, NO_PAUSE_MS, PAUSES_MS, Trimmer, pause_ms

RATE_HZ = 16_000
MS = RATE_HZ // 1000

Audio = NDArray[np.float32]


def silence(ms: int) -> Audio:
    return np.zeros(ms * MS, np.float32)


def speech(ms: int, *, seed: int = 1) -> Audio:
    noise = np.random.default_rng(seed).uniform(0.05, 0.5, ms * MS) * np.where(np.arange(ms * MS) % 2, 1, -1)
    return noise.astype(np.float32)


def trimmed(pieces: list[Audio], *, pause_ms: int) -> list[Audio]:
    trimmer = Trimmer(RATE_HZ)
    return [*map(trimmer.feed, pieces), trimmer.finish(pause_ms)]


def test_the_first_sample_that_comes_out_is_audible() -> None:
    first, rest = trimmed([np.concatenate([silence(83), speech(100)])], pause_ms=0)
    assert first_audible(first, RATE_HZ) == 0
    assert len(first) + len(rest) == 100 * MS


def test_breath_below_the_audible_level_is_trimmed_too() -> None:
    breath = speech(50) * np.float32(0.005)
    (out, _) = trimmed([np.concatenate([breath, speech(100)])], pause_ms=0)
    np.testing.assert_array_equal(out, speech(100))


def test_silence_inside_a_sentence_is_kept() -> None:
    audio = np.concatenate([speech(80), silence(120), speech(80)])
    np.testing.assert_array_equal(np.concatenate(trimmed([audio], pause_ms=0)), audio)


def test_silence_is_held_back_until_it_is_known_to_be_inside() -> None:
    trimmer = Trimmer(RATE_HZ)
    assert len(trimmer.feed(np.concatenate([speech(80), silence(100)]))) == 80 * MS
    assert len(trimmer.feed(silence(50))) == 0
    assert len(trimmer.feed(speech(20))) == 170 * MS


@pytest.mark.parametrize("trailing_ms", [0, 40, 300, 900])
def test_the_pause_after_it_has_the_stated_length(trailing_ms: int) -> None:
    out = np.concatenate(trimmed([np.concatenate([speech(100), silence(trailing_ms)])], pause_ms=300))
    assert len(out) == 400 * MS
    assert not out[100 * MS :].any()


def test_what_the_voice_breathes_into_the_pause_ends_in_silence() -> None:
    out = np.concatenate(trimmed([np.concatenate([speech(100), speech(400) * np.float32(0.005)])], pause_ms=100))
    assert out[110 * MS] != 0
    assert out[-1] == 0


def test_a_first_piece_too_short_to_bridge_the_wait_is_held_back() -> None:
    trimmer = Trimmer(RATE_HZ)
    assert len(trimmer.feed(np.concatenate([silence(100), speech(LEAST_FIRST_MS - 5)]))) == 0
    assert len(trimmer.feed(speech(200))) == (LEAST_FIRST_MS + 195) * MS


def test_a_word_shorter_than_that_still_comes_out() -> None:
    out = np.concatenate(trimmed([speech(20)], pause_ms=40))
    assert len(out) == 60 * MS


def test_silence_alone_gives_nothing_not_even_a_pause() -> None:
    assert sum(map(len, trimmed([silence(400), silence(3)], pause_ms=300))) == 0


stretches = st.lists(st.tuples(st.booleans(), st.integers(1, 120)), min_size=1, max_size=8)


@given(stretches, st.lists(st.integers(0, 14_000), max_size=8), st.sampled_from([0, 40, 300]))
def test_what_comes_out_does_not_depend_on_how_it_was_cut(
    stretches: list[tuple[bool, int]], cuts: list[int], pause_ms: int
) -> None:
    audio = np.concatenate([speech(ms, seed=ms) if loud else silence(ms) for loud, ms in stretches])
    pieces = np.split(audio, sorted(min(cut, len(audio)) for cut in cuts))
    at_once = np.concatenate(trimmed([audio], pause_ms=pause_ms))
    np.testing.assert_array_equal(np.concatenate(trimmed(pieces, pause_ms=pause_ms)), at_once)


@given(stretches)
def test_what_comes_out_begins_audibly_or_is_nothing(stretches: list[tuple[bool, int]]) -> None:
    audio = np.concatenate([speech(ms, seed=ms) if loud else silence(ms) for loud, ms in stretches])
    out = np.concatenate(trimmed([audio], pause_ms=40))
    assert len(out) == 0 or first_audible(out, RATE_HZ) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sure,", PAUSES_MS[","]),
        ("Coming up. ", PAUSES_MS["."]),
        ('"Really?"', PAUSES_MS["?"]),
        ("(of course!)", PAUSES_MS["!"]),
        ("and then", NO_PAUSE_MS),
        ("", NO_PAUSE_MS),
    ],
)
def test_the_last_mark_decides_on_the_pause(text: str, expected: int) -> None:
    assert pause_ms(text) == expected
