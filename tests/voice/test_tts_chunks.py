"""Chunks of a sentence's latent: whatever the sizes, the joined audio is the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.tts.chunks import GROWTH, WORTH_A_CHUNK, Chunk, plan

frames = st.integers(0, 1500)
contexts = st.integers(0, 60)
growths = st.lists(st.integers(1, 100), min_size=1, max_size=5)


@given(frames, contexts, growths)
def test_every_frame_is_in_exactly_one_chunk_in_order(frames: int, context: int, growth: list[int]) -> None:
    chunks = plan(frames, context=context, growth=growth)
    assert [frame for chunk in chunks for frame in range(chunk.start, chunk.end)] == list(range(frames))


@given(frames, contexts, growths)
def test_context_is_all_there_is_up_to_what_the_decoder_sees(frames: int, context: int, growth: list[int]) -> None:
    for chunk in plan(frames, context=context, growth=growth):
        assert chunk.window.start == max(0, chunk.start - context)
        assert chunk.window.stop == min(frames, chunk.end + context)


@given(st.integers(1, 400), st.integers(0, 20), growths, st.integers(1, 4))
def test_joined_chunks_are_the_whole_for_a_decoder_that_sees_no_further(
    frames: int, context: int, growth: list[int], hop: int
) -> None:
    z = np.random.default_rng(frames).standard_normal(frames)
    whole = blurred(z, context, hop)
    joined = [
        blurred(z[chunk.window], context, hop)[chunk.kept(hop)]
        for chunk in plan(frames, context=context, growth=growth)
    ]
    np.testing.assert_allclose(np.concatenate(joined), whole, atol=1e-9)


def blurred(z: np.ndarray, context: int, hop: int) -> np.ndarray:
    """A decoder in small: each sample is the sum of the frames that it sees, with zeros beyond the rim."""
    return np.repeat(np.convolve(z, np.ones(2 * context + 1))[context : context + len(z)], hop)


def test_nothing_to_say_has_no_chunks() -> None:
    assert plan(0, context=11) == []


def test_the_first_chunk_is_small_and_later_ones_grow() -> None:
    assert plan(281, context=11) == [
        Chunk(start=0, end=16, left=0, right=11),
        Chunk(start=16, end=32, left=11, right=11),
        Chunk(start=32, end=52, left=11, right=11),
        Chunk(start=52, end=80, left=11, right=11),
        Chunk(start=80, end=120, left=11, right=11),
        Chunk(start=120, end=184, left=11, right=11),
        Chunk(start=184, end=248, left=11, right=11),
        Chunk(start=248, end=281, left=11, right=0),
    ]


def test_a_short_rest_goes_with_the_chunk_before_it() -> None:
    assert len(plan(GROWTH[0] + WORTH_A_CHUNK - 1, context=11)) == 1
    assert len(plan(GROWTH[0] + WORTH_A_CHUNK, context=11)) == 2
