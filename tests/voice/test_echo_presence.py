"""Whether there is an echo at all."""

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.voice.audio.echo_presence import HOP, RATE_HZ, EchoPresence, concentration


def speechlike(seconds: float, seed: int) -> NDArray[np.float32]:
    """Noise with the colour and the syllables of a voice."""
    rng = np.random.default_rng(seed)
    noise = np.convolve(rng.normal(size=int(seconds * RATE_HZ)), 0.9 ** np.arange(40), "same")
    syllables = np.repeat(rng.uniform(0.05, 1.0, len(noise) // 2400 + 1), 2400)[: len(noise)]
    return (0.05 * noise * syllables).astype(np.float32)


def late(samples: NDArray[np.float32], delay_ms: int) -> NDArray[np.float32]:
    return np.concatenate([np.zeros(delay_ms * 16, np.float32), samples])[: len(samples)]


def judged(near: NDArray[np.float32], far: NDArray[np.float32], presence: EchoPresence | None = None) -> EchoPresence:
    presence = presence or EchoPresence()
    for at in range(0, len(near) // 160 * 160, 160):
        presence.feed(near[at : at + 160], far[at : at + 160])
    return presence


@pytest.mark.parametrize("delay_ms", [0, 20, 100, 300, 450])
@pytest.mark.parametrize("level_db", [-10, -30])
def test_an_echo_is_found_at_any_delay_and_under_a_voice(delay_ms: int, level_db: int) -> None:
    far = speechlike(4, 1)
    echo = late(far, delay_ms) * 10 ** (level_db / 20)
    presence = EchoPresence()
    presence.present = False
    assert judged(echo.astype(np.float32), far, presence).present
    assert judged(echo + 10 ** (level_db / 20) * speechlike(4, 2), far).present


@pytest.mark.parametrize("seed", range(4))
def test_another_voice_is_no_echo(seed: int) -> None:
    assert not judged(speechlike(6, 10 + seed), speechlike(6, 20 + seed)).present


def test_a_silent_microphone_is_no_echo() -> None:
    assert not judged(np.zeros(6 * RATE_HZ, np.float32), speechlike(6, 1)).present


def test_nothing_is_decided_while_nothing_is_played() -> None:
    silence = np.zeros(6 * RATE_HZ, np.float32)
    assert judged(speechlike(6, 1), silence).present
    presence = EchoPresence()
    presence.present = False
    assert not judged(speechlike(6, 1), silence, presence).present


def test_an_echo_is_not_denied_within_the_first_second() -> None:
    assert judged(speechlike(0.9, 1), speechlike(0.9, 2)).present


def test_one_look_is_no_evidence() -> None:
    presence = judged(late(speechlike(4, 1), 100), speechlike(4, 1))
    presence.feed(np.zeros(HOP, np.float32), speechlike(HOP / RATE_HZ, 3))
    assert presence.present


def test_the_best_stretch_is_told_from_an_even_spread() -> None:
    assert concentration(np.zeros(8193)) == 0.0
    assert concentration(np.ones(8193)) == pytest.approx(1.0)
    peak = np.zeros(8193)
    peak[4000] = -1.0
    assert concentration(peak) == pytest.approx(8193 / 400)
