"""A budget is what its allowances add up to."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.allowance import DEFAULT, Budget
from turngap.budget.clock import MS
from turngap.budget.errors import ConfigurationError
from turngap.budget.marks import Stage


def test_the_default_is_half_a_second_split_over_every_stage() -> None:
    assert DEFAULT.total == 500 * MS
    assert list(DEFAULT.allowances) == list(Stage)
    assert sum(DEFAULT.allowances.values()) == DEFAULT.total
    assert DEFAULT.to_json()["allowances_ms"]["residual"] == 10.0


def test_allowances_that_do_not_add_up_are_refused_with_the_sum_that_would() -> None:
    with pytest.raises(ConfigurationError, match=r"add up to 501 ms, the budget is 500 ms. Set the budget to 501 ms"):
        Budget(total=500 * MS, allowances={**DEFAULT.allowances, Stage.TTS: DEFAULT.allowances[Stage.TTS] + MS})


def test_every_stage_needs_an_allowance() -> None:
    with pytest.raises(ConfigurationError, match="no allowance for asr, residual"):
        Budget(total=0, allowances={k: 0 for k in Stage if k not in (Stage.ASR, Stage.RESIDUAL)})


def test_an_allowance_is_not_negative() -> None:
    with pytest.raises(ConfigurationError, match="allowance of tts is negative"):
        Budget(total=0, allowances={**dict.fromkeys(Stage, 0), Stage.TTS: -1, Stage.ASR: 1})


def test_a_budget_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        DEFAULT.allowances[Stage.TTS] = 0  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULT.total = 0  # type: ignore[misc]


def test_another_total_keeps_the_proportions() -> None:
    assert Budget.of(500) == DEFAULT
    assert Budget.of(1000).allowances[Stage.ASR] == 2 * DEFAULT.allowances[Stage.ASR]


@pytest.mark.parametrize("total_ms", [0, -1, math.nan, math.inf])
def test_a_budget_is_a_positive_number_of_milliseconds(total_ms: float) -> None:
    with pytest.raises(ConfigurationError, match="cannot be kept"):
        Budget.of(total_ms)


@given(st.floats(0.001, 1e7))
def test_a_scaled_budget_loses_no_nanosecond(total_ms: float) -> None:
    budget = Budget.of(total_ms)
    assert sum(budget.allowances.values()) == budget.total == round(total_ms * MS)
    for stage, allowed in budget.allowances.items():
        assert abs(allowed - budget.total * DEFAULT.allowances[stage] / DEFAULT.total) <= 1 + budget.total * 1e-12
