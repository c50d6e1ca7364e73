"""Percentiles by nearest rank, which say when there are too few turns."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.percentiles import RANKS, Summary, figure, percentile, supports


@pytest.mark.parametrize(("rank", "expected"), [(50, 50), (90, 90), (95, 95), (99, 99)])
def test_of_a_hundred_turns_the_rank_is_the_percentile(rank: int, expected: int) -> None:
    assert percentile(range(1, 101), rank) == expected


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_the_median_is_a_turn_that_happened(n: int, expected: int) -> None:
    assert percentile(range(1, n + 1), 50) == expected


@pytest.mark.parametrize(("rank", "least"), [(50, 2), (90, 10), (95, 20), (99, 100)])
def test_a_percentile_needs_a_turn_beyond_it(rank: int, least: int) -> None:
    assert supports(least, rank)
    assert not supports(least - 1, rank)
    assert percentile(range(least - 1), rank) == least - 2


def test_unknown_is_counted_and_never_left_out() -> None:
    summary = Summary.of([300.0, None, math.nan, 100.0])
    assert summary == Summary(n=2, unknown=2, p50=100, p90=300, p95=300, p99=300, max=300)
    assert (
        str(summary)
        == "p50 100  p90 ~300  p95 ~300  p99 ~300  max 300  (n 2, 2 unknown; ~ too few for this percentile)"
    )


def test_nothing_known_is_not_nought() -> None:
    summary = Summary.of([None])
    assert summary.to_json() == dict.fromkeys(("p50", "p90", "p95", "p99", "max")) | {"n": 0, "unknown": 1}
    assert str(summary) == "no figures (n 0, 1 unknown)"
    assert not summary.supports(50)


def test_enough_turns_are_shown_without_reserve() -> None:
    assert str(Summary.of(range(1, 101))) == "p50 50  p90 90  p95 95  p99 99  max 100  (n 100)"


def test_json_holds_the_keys_that_were_asked_for_with_n_beside_them() -> None:
    assert Summary.of([1, 2]).to_json("p50", "max") == {"p50": 1, "max": 2, "n": 2, "unknown": 0}


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (0.0, "0"), (0.3, "<1"), (41.6, "42")])
def test_a_figure_for_people(value: float | None, shown: str) -> None:
    assert figure(value, 50, 2) == shown


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_at_least_its_share_does_not_exceed_a_percentile_and_it_happened(values: list[float]) -> None:
    summary = json.loads(json.dumps(Summary.of(values).to_json()))
    for rank in RANKS:
        value = summary[f"p{rank}"]
        assert value in values
        assert 100 * sum(other <= value for other in values) >= rank * len(values)
        assert 100 * sum(other < value for other in values) < rank * len(values)
    assert summary["max"] == max(values)
