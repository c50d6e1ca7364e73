"""What a loudspeaker would have played, told by scores at 1 kHz: one sample is one millisecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS
from turngap.voice.client.speaker import Speaker


def tone(samples: int, level: float = 1.0) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.full(samples, level, np.float32)


def sounding(speaker: Speaker) -> list[tuple[int, int]]:
    """Stretches of the track that are not silent, as (first, end)."""
    on = np.concatenate([[0], speaker.track() != 0, [0]])
    edges = np.flatnonzero(np.diff(on))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def test_a_piece_plays_when_it_arrives() -> None:
    speaker = Speaker(1000, origin=5 * MS)
    speaker.play(tone(10), at=105 * MS)
    assert sounding(speaker) == [(100, 110)]


def test_a_piece_that_arrives_between_two_samples_plays_from_the_later_one() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(tone(10), at=100 * MS + 1)
    assert sounding(speaker) == [(101, 111)]


def test_pieces_that_arrive_in_a_burst_play_one_after_the_other() -> None:
    speaker = Speaker(1000, origin=0)
    for level in (0.1, 0.2, 0.3):
        speaker.play(tone(20, level), at=100 * MS)
    assert sounding(speaker) == [(100, 160)]
    assert speaker.silent_from() == 160 * MS
    assert speaker.track()[[100, 120, 140]].tolist() == np.array([0.1, 0.2, 0.3], np.float32).tolist()


def test_a_late_piece_leaves_a_hole() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(tone(20), at=100 * MS)
    speaker.play(tone(20), at=150 * MS)
    assert sounding(speaker) == [(100, 120), (150, 170)]


def test_clear_cuts_what_plays_and_drops_what_waits() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(tone(100), at=100 * MS)
    speaker.play(tone(100), at=110 * MS)
    speaker.clear(at=130 * MS)
    assert sounding(speaker) == [(100, 130)]


def test_after_a_clear_the_next_piece_plays_at_once() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(tone(500), at=100 * MS)
    speaker.clear(at=130 * MS)
    speaker.play(tone(10), at=200 * MS)
    assert sounding(speaker) == [(100, 130), (200, 210)]


def test_a_clear_of_silence_changes_nothing() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(tone(10), at=100 * MS)
    speaker.clear(at=300 * MS)
    assert sounding(speaker) == [(100, 110)]
    assert len(speaker.track(samples=400)) == 400


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 80)), max_size=12))
def test_without_a_clear_every_sample_is_heard_once_and_none_before_it_came(pieces: list[tuple[int, int]]) -> None:
    speaker = Speaker(1000, origin=0)
    level = 0.0
    for at, samples in sorted(pieces):
        level += 0.01
        speaker.play(tone(samples, level), at=at * MS)
    track = speaker.track()
    assert np.count_nonzero(track) == sum(samples for _, samples in pieces)
    level = 0.0
    for at, _ in sorted(pieces):
        level += 0.01
        assert int(np.argmax(track == np.float32(level))) >= at


def test_a_piece_of_nothing_is_not_heard() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(np.zeros(0, np.float32), at=10 * MS)
    assert sounding(speaker) == []


def test_a_part_is_what_the_track_holds_there() -> None:
    speaker = Speaker(1000, origin=0)
    speaker.play(tone(10, 0.1), at=100 * MS)
    speaker.play(tone(10, 0.2), at=105 * MS)
    speaker.play(tone(10, 0.3), at=150 * MS)
    track = speaker.track(samples=200)
    for start, end in [(0, 200), (0, 100), (104, 112), (109, 155), (155, 158), (160, 200)]:
        assert np.array_equal(speaker.between(start, end), track[start:end])
    assert not speaker.between(-50, 0).any()
    assert [(start, len(piece)) for start, piece in speaker.pieces] == [(100, 10), (110, 10), (150, 10)]
