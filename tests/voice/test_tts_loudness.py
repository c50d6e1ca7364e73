"""One gain for a voice, and no clipping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.tts.loudness import KNEE, amplified, gain_for

RATE_HZ = 16_000


def hum(amplitude: float, ms: int = 500) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * 200 * np.arange(ms * RATE_HZ // 1000) / RATE_HZ)).astype(np.float32)


@pytest.mark.parametrize("amplitude", [0.02, 0.1, 0.6])
def test_speech_comes_out_at_minus_20_dbfs_whatever_the_model_gives(amplitude: float) -> None:
    reference = hum(amplitude)
    loud = amplified(reference, gain_for(reference, RATE_HZ))
    assert 10 * np.log10(np.mean(loud**2)) == pytest.approx(-20.0, abs=0.1)


def test_pauses_do_not_make_the_speech_louder() -> None:
    with_pauses = np.concatenate([hum(0.1), np.zeros(RATE_HZ, np.float32)])
    assert gain_for(with_pauses, RATE_HZ) == pytest.approx(gain_for(hum(0.1), RATE_HZ))


def test_a_peaky_voice_is_left_below_the_knee() -> None:
    peaky = hum(0.05)
    peaky[100] = 0.9
    assert np.max(np.abs(peaky)) * gain_for(peaky, RATE_HZ) <= KNEE + 1e-6


def test_a_silent_reference_changes_nothing() -> None:
    assert gain_for(np.zeros(RATE_HZ, np.float32), RATE_HZ) == 1.0


@given(st.lists(st.floats(-1, 1, width=32), max_size=50), st.floats(0.1, 20))
def test_nothing_clips_and_louder_stays_louder(samples: list[float], gain: float) -> None:
    quiet = np.sort(np.array(samples, np.float32))
    loud = amplified(quiet, gain)
    assert np.all(np.abs(loud) <= 1.0)
    assert np.all(np.diff(loud) >= 0)


def test_below_the_knee_samples_are_only_scaled() -> None:
    np.testing.assert_array_equal(amplified(hum(0.4), 2.0), hum(0.4) * np.float32(2.0))
