"""Bars neither overlap nor hide what happened, and numbers that are shown add up."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.report.bars import ASCII, UNICODE, apportion, axis, bar, shaded, step, thin


def test_a_bar_is_drawn_to_half_a_cell() -> None:
    assert bar([(10, 25)], scale=40, width=4, glyphs=UNICODE) == " █▌ "
    assert bar([(15, 30)], scale=40, width=4, glyphs=UNICODE) == " ▐█ "


def test_a_piece_too_short_to_draw_leaves_a_sliver() -> None:
    assert bar([(20, 20.1), (40, 40)], scale=40, width=4, glyphs=UNICODE) == "  ▏▏"


def test_a_sliver_never_covers_a_bar_and_what_lies_outside_is_cut_off() -> None:
    assert bar([(0, 400), (20, 20), (-9, -5), (90, 90)], scale=40, width=4, glyphs=ASCII) == "####"


def test_shades_and_thin_lines_have_the_shape_of_the_bar() -> None:
    assert shaded([(15, 30)], scale=40, width=4, glyphs=UNICODE) == " ░░ "
    assert bar([(0, 15)], scale=40, width=4, glyphs=thin(UNICODE)) == "━╸  "
    assert bar([(0, 20)], scale=40, width=4, glyphs=thin(ASCII)) == "==  "


def test_the_axis_has_round_labels_over_its_ticks() -> None:
    labels, rule = axis(520, 41, UNICODE)
    assert labels == "0              200             400       "
    assert rule == "┬──────────────┬───────────────┬─────────"


@pytest.mark.parametrize(("scale", "width", "expected"), [(500, 84, 100), (520, 42, 200), (5, 50, 1), (1e9, 40, 1e9)])
def test_ticks_stand_at_round_distances(scale: float, width: int, expected: float) -> None:
    assert step(scale, width) == expected


def test_a_label_that_does_not_fit_is_left_out() -> None:
    labels, _ = axis(1000, 20, ASCII)
    assert labels.split() == ["0", "500"]


@given(st.lists(st.floats(0, 1e5), max_size=9))
def test_what_is_shown_adds_up_and_is_never_a_millisecond_off(values: list[float]) -> None:
    shown = apportion(values)
    assert sum(shown) == round(sum(values))
    assert all(abs(value - whole) < 1 + 1e-9 for value, whole in zip(values, shown, strict=True))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.integers(5, 100))
def test_pieces_that_tile_never_share_a_half_cell(lengths: list[float], width: int) -> None:
    scale = max(1.0, sum(lengths))
    edges = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
    halves = [0] * (2 * width)
    for piece in pairwise(edges):
        for cell, drawn in enumerate(bar([piece], scale=scale, width=width, glyphs=UNICODE)):
            halves[2 * cell] += drawn in "█▌"
            halves[2 * cell + 1] += drawn in "█▐"
    assert max(halves) <= 1
