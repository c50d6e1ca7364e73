"""What recordings go through keeps its promises: levels as asked, labels unmoved, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError
from turngap.voice.client.conditions import apply, mu_law, parse, speech_power

RATE_HZ = 16_000
SPEECH = [(0.5, 1.0), (1.2, 1.5)]
EVERY = ["clean", "snr=10", "telephone", "far-field", "quiet", "clipped", "dc", "far-field+snr=5+telephone"]


def hiss(seconds: float, level: float, seed: int) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).standard_normal(round(seconds * RATE_HZ)) * level).astype(np.float32)


def said() -> NDArray[np.float32]:
    """Two words of noise in a quiet room: 2.3 s."""
    track = hiss(2.3, 0.0005, 1)
    for start, end in SPEECH:
        first, last = round(start * RATE_HZ), round(end * RATE_HZ)
        track[first:last] += hiss(end - start, 0.1, 2)
    return track


def room() -> NDArray[np.float32]:
    """A direct sound after 20 ms, then 0.3 s of reverberation."""
    response = hiss(0.3, 0.02, 3) * np.exp(-np.arange(round(0.3 * RATE_HZ)) / 1500).astype(np.float32)
    response[:320] = 0.0
    response[320] = 1.0
    return response


def under(condition: str, *, seed: int = 0, noise_s: float = 0.7) -> NDArray[np.float32]:
    return apply(said(), RATE_HZ, condition, speech=SPEECH, noise=hiss(noise_s, 0.3, 4), room=room(), seed=seed)


@pytest.mark.parametrize("condition", EVERY)
def test_the_length_is_kept_and_full_scale_is_not_exceeded(condition: str) -> None:
    heard = under(condition)
    assert heard.dtype == np.float32
    assert len(heard) == len(said())
    assert np.abs(heard).max() <= 1.0


@pytest.mark.parametrize("condition", EVERY)
def test_a_click_stays_where_it_was(condition: str) -> None:
    track = hiss(2.0, 0.0001, 1)
    track[8000:8400] = hiss(0.025, 0.05, 5)
    track[8200] = 0.99
    heard = apply(track, RATE_HZ, condition, speech=[(0.5, 0.525)], noise=hiss(1.0, 0.1, 4), room=room())
    shift = [float(np.dot(heard[7900:8500], track[7900 + by : 8500 + by])) for by in range(-40, 41)]
    assert int(np.argmax(shift)) - 40 == 0


@given(st.floats(-5, 30), st.integers(0, 5), st.sampled_from([0.4, 1.3, 6.0]))
def test_noise_is_as_far_below_the_speech_as_asked(snr: float, seed: int, noise_s: float) -> None:
    speech = said() * np.float32(0.05)
    heard = apply(speech, RATE_HZ, f"snr={snr}", speech=SPEECH, noise=hiss(noise_s, 0.3, 4), seed=seed)
    added = np.mean(np.square((heard - speech).astype(np.float64)))
    assert 10 * np.log10(speech_power(speech, RATE_HZ, SPEECH) / added) == pytest.approx(snr, abs=0.05)


def test_the_same_seed_gives_the_same_noise_and_another_one_another() -> None:
    assert np.array_equal(under("snr=10", seed=3), under("snr=10", seed=3))
    assert not np.array_equal(under("snr=10", seed=3), under("snr=10", seed=4))


def test_noise_that_is_looped_has_no_seam() -> None:
    wave = np.sin(2 * np.pi * 101.7 * np.arange(8000) / RATE_HZ).astype(np.float32)
    heard = apply(said(), RATE_HZ, "snr=0", speech=SPEECH, noise=wave) - said()
    assert np.abs(np.diff(heard)).max() < 1.5 * np.abs(np.diff(heard[:3000])).max()


def test_a_telephone_lets_nothing_through_outside_its_band() -> None:
    heard = under("telephone")
    power = np.abs(np.fft.rfft(heard)) ** 2
    hz = np.fft.rfftfreq(len(heard), 1 / RATE_HZ)
    inside = power[(hz > 400) & (hz < 3300)].mean()
    for outside in (hz < 100, (hz > 3700) & (hz < 7900)):
        assert power[outside].mean() < inside / 1000  # what is left is the noise of the mu-law steps


def test_mu_law_is_finer_where_it_is_quiet() -> None:
    loud, quiet = np.linspace(0.5, 1.0, 999, dtype=np.float32), np.linspace(0.0, 0.01, 999, dtype=np.float32)
    assert np.abs(mu_law(loud) - loud).max() < 0.025
    assert np.abs(mu_law(quiet) - quiet).max() < 0.0003
    assert np.array_equal(mu_law(-loud), -mu_law(loud))


def test_across_the_room_the_speech_is_as_loud_and_the_pauses_are_not_silent() -> None:
    near, far = said(), under("far-field")
    assert speech_power(far, RATE_HZ, SPEECH) == pytest.approx(speech_power(near, RATE_HZ, SPEECH), rel=1e-3)
    after = slice(round(1.02 * RATE_HZ), round(1.1 * RATE_HZ))
    assert np.std(far[after]) > 3 * np.std(near[after])


@pytest.mark.parametrize(("condition", "level_db"), [("quiet", -50.0), ("quiet=-60", -60.0)])
def test_a_quiet_microphone_is_as_quiet_as_asked_and_has_16_bits(condition: str, level_db: float) -> None:
    heard = under(condition)
    assert 10 * np.log10(speech_power(heard, RATE_HZ, SPEECH)) == pytest.approx(level_db, abs=0.1)
    assert np.allclose(heard * 32767, np.rint(heard * 32767), atol=1e-3)


def test_clipping_cuts_the_peaks_off() -> None:
    heard, speech = under("clipped"), said()
    assert np.mean(np.abs(heard) == 1.0) > 0.02
    unclipped = np.abs(heard) < 1.0
    gain = 10 ** (12 / 20) / np.abs(speech).max()
    assert np.allclose(heard[unclipped], speech[unclipped] * gain, atol=1e-6)


def test_a_constant_stands_beside_the_sound() -> None:
    assert np.mean(under("dc=0.2")) == pytest.approx(0.2 + said().mean(), abs=1e-4)


@pytest.mark.parametrize("condition", ["lead", "zeros", "lead=2.5", "zeros=1+snr=10"])
def test_silence_before_it_moves_the_labels_by_what_is_told(condition: str) -> None:
    heard, lead_s = under(condition), parse(condition).lead_s
    assert lead_s > 0
    moved = [(start + lead_s, end + lead_s) for start, end in SPEECH]
    assert len(heard) == len(said()) + round(lead_s * RATE_HZ)
    assert speech_power(heard, RATE_HZ, moved) == pytest.approx(speech_power(said(), RATE_HZ, SPEECH), rel=0.15)


def test_the_silence_before_it_is_the_rooms_own_where_it_has_one() -> None:
    assert np.std(under("lead")[:RATE_HZ]) == pytest.approx(0.0005, rel=0.1)
    assert not np.any(under("zeros")[:RATE_HZ])
    without = apply(said()[8000:16000], RATE_HZ, "lead=1", speech=[(0.0, 0.5)])
    assert not np.any(without[:RATE_HZ])
    assert len(apply(said(), RATE_HZ, "lead=1", speech=[])) == len(said()) + RATE_HZ


def test_clean_is_untouched() -> None:
    assert np.array_equal(under("clean"), said())


def test_a_condition_says_what_it_needs() -> None:
    assert (parse("snr=5").needs_noise, parse("snr=5").needs_room) == (True, False)
    assert (parse("far-field+dc").needs_noise, parse("far-field+dc").needs_room) == (False, True)


@pytest.mark.parametrize("condition", ["loud", "snr", "snr=", "snr=ten", "", "telephone+"])
def test_what_is_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(ConfigurationError):
        parse(condition)


@pytest.mark.parametrize("condition", ["snr=10", "far-field", "quiet"])
def test_what_a_condition_needs_must_be_there(condition: str) -> None:
    with pytest.raises(ConfigurationError):
        apply(said(), RATE_HZ, condition, speech=[])
