"""A still room is known by its level: no voice that a person would hear is taken for it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.endpointing.stillness import LEARNED_BLOCKS, STEADY_DB, Stillness

HISS_DB = -60.0


def hiss(blocks: int, *, seed: int = 0, spread_db: float = 0.5) -> list[float]:
    return list(HISS_DB + np.clip(np.random.default_rng(seed).normal(0, spread_db, blocks), -2.0, 2.0))


def after(levels: list[float], *, probability: float = 0.02) -> Stillness:
    stillness = Stillness()
    for start in range(0, len(levels), 3):
        stillness.learn(levels[start : start + 3], probability)
    return stillness


def test_a_room_is_still_once_two_seconds_of_it_are_known() -> None:
    assert not after(hiss(LEARNED_BLOCKS - 1)).holds([HISS_DB])
    assert after(hiss(LEARNED_BLOCKS)).holds([HISS_DB])


def test_most_of_a_still_room_needs_no_model() -> None:
    stillness = after(hiss(LEARNED_BLOCKS))
    asked = 0
    for start in range(0, 3000, 3):
        levels = hiss(3000, seed=1)[start : start + 3]
        if not stillness.holds(levels):
            stillness.learn(levels, 0.02)
            asked += 1
    assert asked < 50


def test_nothing_is_still_after_a_voice() -> None:
    stillness = after(hiss(LEARNED_BLOCKS))
    stillness.learn([HISS_DB], 0.5)
    assert not stillness.holds([HISS_DB])


def test_what_moves_is_listened_to() -> None:
    music = hiss(LEARNED_BLOCKS, spread_db=0.5)
    music[::20] = [HISS_DB + 9.0] * len(music[::20])
    assert not after(music).holds([HISS_DB])


@given(st.lists(st.floats(-100.0, 0.0), min_size=LEARNED_BLOCKS, max_size=LEARNED_BLOCKS), st.floats(-100.0, 0.0))
def test_what_is_much_louder_than_usual_is_never_taken_for_the_room(room: list[float], voice: float) -> None:
    usual = sum(room) / len(room)
    if voice > usual + STEADY_DB + 1e-6:
        assert not after(room).holds([usual, voice])
