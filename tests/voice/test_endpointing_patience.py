"""How long people pause."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.endpointing.patience import Patience, Pauses

PAUSES = Pauses(median_ms=400, spread=0.7, weight=4)


def test_half_of_the_pauses_are_longer_than_the_median() -> None:
    patience = Patience(PAUSES)
    assert patience.longer(400) == pytest.approx(0.5)
    assert patience.until(0.5) == pytest.approx(400)


def test_a_certain_pause_needs_no_wait_and_an_impossible_one_never_ends() -> None:
    patience = Patience(PAUSES)
    assert patience.longer(0) == patience.longer(-1) == 1
    assert patience.until(1) == 0
    assert patience.until(0) == math.inf


@given(st.lists(st.floats(1, 5000), max_size=30))
def test_a_speakers_own_pauses_move_the_median_towards_them(pauses: list[float]) -> None:
    patience = Patience(PAUSES)
    for ms in pauses:
        patience.paused(ms)
    low, high = min([400, *pauses]), max([400, *pauses])
    assert low * 0.999 <= patience.median_ms <= high * 1.001


@given(st.floats(0.001, 0.999))
def test_chance_and_wait_are_inverse(chance: float) -> None:
    patience = Patience()
    assert patience.longer(patience.until(chance)) == pytest.approx(chance, abs=1e-6)
