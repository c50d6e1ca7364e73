"""Parts of recordings that are played over a conversation."""

import numpy as np
import pytest

from turngap.budget.errors import ConfigurationError
from turngap.voice.audio.level import block_levels
from turngap.voice.client.cuts import LOUD_DB, bounds, cut, loudest


def test_a_part_has_one_rate_one_level_and_no_click() -> None:
    quiet = np.sin(np.arange(44_100, dtype=np.float32) / 20.0).astype(np.float32) * np.float32(0.01)
    part = cut(quiet, 44_100, start_s=0.2, end_s=0.7, to_hz=16_000)
    assert len(part) == 8000
    assert abs(float(np.quantile(block_levels(part, 160), 0.9)) - LOUD_DB) < 0.5
    assert part[0] == part[-1] == 0.0


def test_what_is_mostly_quiet_does_not_clip() -> None:
    tap = np.full(16_000, 1e-5, np.float32)
    tap[8000:8010] = 1.0
    assert float(np.abs(cut(tap, 16_000, start_s=0.0, end_s=1.0, to_hz=16_000)).max()) <= 0.9


def test_a_part_of_nothing_is_nothing() -> None:
    assert not cut(np.zeros(16_000, np.float32), 16_000, start_s=0.0, end_s=0.5, to_hz=16_000).any()


def test_the_manifest_says_where_the_voice_is() -> None:
    assert bounds({"speech_segments_s": [[0.5, 1.0], [1.4, 2.0]], "speech_end_s": 1.9}) == pytest.approx((0.4, 1.95))
    with pytest.raises(ConfigurationError, match="does not say where the voice"):
        bounds({"speech_segments_s": [], "speech_end_s": None})


def test_the_loudest_parts_do_not_overlap() -> None:
    track = np.full(10_000, 0.001, np.float32)
    track[2000:3000] = 0.5
    track[7000:7500] = 0.3
    assert loudest(track, 1000, seconds=1.0, count=2) == pytest.approx([2.0, 6.5], abs=0.51)
    first, second = loudest(track, 1000, seconds=1.0, count=2)
    assert abs(first - second) >= 1.0


def test_a_recording_that_is_too_short_is_one_part() -> None:
    assert loudest(np.ones(500, np.float32), 1000, seconds=1.0, count=3) == [0.0]


def test_there_are_no_more_parts_than_there_is_room_for() -> None:
    assert len(loudest(np.ones(3000, np.float32), 1000, seconds=1.0, count=10)) <= 5
