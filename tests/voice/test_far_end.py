"""What the client plays, and when."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Ns
from turngap.voice.audio.far_end import MEMORY, FarEnd

RATE = 16_000
PER_MS = RATE // 1000


def ramp(start: int, count: int) -> NDArray[np.float32]:
    """Samples that tell which they are."""
    return np.arange(start + 1, start + count + 1, dtype=np.float32)


def test_audio_that_is_sent_ahead_is_played_behind_what_was_sent_before() -> None:
    far = FarEnd(RATE)
    far.sent(ramp(0, 320), at=1000 * MS)
    far.sent(ramp(320, 320), at=1001 * MS)
    assert np.array_equal(far.during(1000 * MS, 640), ramp(0, 640))


def test_a_client_that_has_run_dry_plays_at_once() -> None:
    far = FarEnd(RATE)
    far.sent(ramp(0, 320), at=1000 * MS)
    far.sent(ramp(320, 320), at=1050 * MS)
    assert not np.any(far.during(1020 * MS, 30 * PER_MS))
    assert np.array_equal(far.during(1050 * MS, 320), ramp(320, 320))


def test_what_is_cleared_is_silence_and_the_next_reply_does_not_wait_for_it() -> None:
    far = FarEnd(RATE)
    for index in range(10):
        far.sent(ramp(320 * index, 320), at=1000 * MS)
    far.cleared(at=1030 * MS)
    heard = far.during(1000 * MS, 200 * PER_MS)
    assert np.array_equal(heard[: 30 * PER_MS], ramp(0, 480))
    assert not np.any(heard[30 * PER_MS :])
    far.sent(ramp(0, 320), at=1040 * MS)
    assert np.array_equal(far.during(1040 * MS, 320), ramp(0, 320))


def test_clearing_before_anything_was_sent_or_after_all_was_played_changes_nothing() -> None:
    far = FarEnd(RATE)
    far.cleared(at=5 * MS)
    far.sent(ramp(0, 320), at=1000 * MS)
    far.cleared(at=2000 * MS)
    assert np.array_equal(far.during(1000 * MS, 320), ramp(0, 320))


def test_it_is_audible_while_it_is_played() -> None:
    far = FarEnd(RATE)
    assert not far.audible_since(0)
    far.sent(ramp(0, 320), at=1000 * MS)
    assert far.audible_since(1019 * MS)
    assert not far.audible_since(1020 * MS)


def test_what_was_played_long_ago_is_forgotten() -> None:
    far = FarEnd(RATE)
    far.sent(ramp(0, 320), at=0)
    far.during(MEMORY + SECOND, 320)
    assert not np.any(far.during(0, 320))


sendings = st.lists(st.tuples(st.integers(0, 80), st.integers(1, 40), st.booleans()), min_size=1, max_size=30)
"""Milliseconds since the one before, milliseconds of audio, whether the client is asked to clear first."""


def played(steps: list[tuple[int, int, bool]]) -> tuple[FarEnd, list[tuple[int, int]], int]:
    """The far end, and by a slower reckoning which sample is played at which index; and the last moment in ms."""
    far, now, sent = FarEnd(RATE), 1000, 0
    truth: list[tuple[int, int]] = []
    for wait, length, clear in steps:
        now += wait
        if clear:
            far.cleared(at=now * MS)
            truth = [(index, sample) for index, sample in truth if index < now * PER_MS]
        count = length * PER_MS
        far.sent(ramp(sent, count), at=now * MS)
        start = max(now * PER_MS, truth[-1][0] + 1 if truth else 0)
        truth += [(start + offset, sent + offset + 1) for offset in range(count)]
        sent += count
    return far, truth, now


@given(sendings)
def test_every_sample_is_played_once_and_in_its_place(steps: list[tuple[int, int, bool]]) -> None:
    far, truth, _ = played(steps)
    expected = np.zeros(3600 * PER_MS, np.float32)
    for index, sample in truth:
        expected[index - 1000 * PER_MS] = sample
    assert np.array_equal(far.during(1000 * MS, len(expected)), expected)


@given(sendings, st.lists(st.integers(1, 500), max_size=40))
def test_the_pieces_in_which_one_asks_make_no_difference(
    steps: list[tuple[int, int, bool]], lengths: list[int]
) -> None:
    far, _, _ = played(steps)
    whole = far.during(1000 * MS, sum(lengths))
    start: Ns = 1000 * MS
    pieces = []
    for length in lengths:
        pieces.append(far.during(start, length))
        start += length * SECOND // RATE
    assert np.array_equal(np.concatenate([np.zeros(0, np.float32), *pieces]), whole)


@given(sendings)
def test_nothing_is_played_before_it_was_sent(steps: list[tuple[int, int, bool]]) -> None:
    """So the far end of any moment is known once that moment has come."""
    far, now, sent = FarEnd(RATE), 1000, 0
    for wait, length, _ in steps:
        before = far.during(0, (now + wait) * PER_MS)
        now += wait
        far.sent(ramp(sent, length * PER_MS), at=now * MS)
        sent += length * PER_MS
        assert np.array_equal(far.during(0, now * PER_MS), before)


@given(sendings)
def test_samples_keep_their_order(steps: list[tuple[int, int, bool]]) -> None:
    far, _, _ = played(steps)
    heard = far.during(1000 * MS, 3600 * PER_MS)
    assert all(first < second for first, second in pairwise(heard[heard > 0]))
