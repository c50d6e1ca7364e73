"""The agent's voice on its way back into the microphone."""

import numpy as np
import pytest

from turngap.voice.client.echo_path import EchoPath

RATE_HZ = 1000


def test_an_echo_is_late_and_quieter() -> None:
    response = np.zeros(40, np.float32)
    response[7] = 0.3  # the way to the microphone that the room was measured with
    path = EchoPath(response, RATE_HZ, delay_s=0.05, level_db=-20.0)
    played = np.random.default_rng(1).normal(0, 0.1, 600).astype(np.float32)
    echo = path.of(played)
    assert len(echo) == 600 - path.reach
    np.testing.assert_allclose(echo, 0.1 * played[path.reach - 50 : -50], atol=1e-6)


def test_a_room_changes_the_sound_and_not_its_level() -> None:
    response = np.random.default_rng(2).normal(0, 1, 200) * np.exp(-np.arange(200) / 30)
    path = EchoPath(response.astype(np.float32), RATE_HZ, delay_s=0.02, level_db=-10.0)
    played = np.random.default_rng(3).normal(0, 0.1, 20_000).astype(np.float32)
    level_db = 10 * np.log10(np.mean(np.square(path.of(played))) / 0.01)
    assert level_db == pytest.approx(-10.0, abs=0.5)


def test_it_is_the_same_however_it_is_cut() -> None:
    path = EchoPath(np.exp(-np.arange(50, dtype=np.float32) / 9), RATE_HZ, delay_s=0.1, level_db=-6.0)
    played = np.random.default_rng(4).normal(0, 0.1, 500).astype(np.float32)
    parts = [path.of(played[at : at + path.reach + 50]) for at in range(0, 500 - path.reach, 50)]
    np.testing.assert_allclose(np.concatenate(parts), path.of(played), atol=1e-6)
