"""What may be spent on replies that nobody may want."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS, SECOND
from turngap.budget.errors import ConfigurationError
from turngap.budget.marks import Span, Stage
from turngap.llm.protocol import Usage
from turngap.llm.thrift import SpeculationBudget, cost


def small() -> SpeculationBudget:
    return SpeculationBudget(window=10 * SECOND, tokens=100, share=0.5)


def test_a_new_conversation_may_speculate() -> None:
    assert SpeculationBudget().may_start(0)


def test_tokens_run_out_and_come_back_when_their_window_is_over() -> None:
    budget = small()
    budget.spent(60, 0, 1 * SECOND)
    assert budget.may_start(2 * SECOND)
    budget.spent(60, 0, 3 * SECOND)
    assert not budget.may_start(4 * SECOND)
    assert not budget.may_start(11 * SECOND - 1)
    assert budget.may_start(11 * SECOND)


def test_a_core_is_left_to_the_others() -> None:
    budget = small()
    budget.spent(1, 5 * SECOND, 1 * SECOND)
    assert not budget.may_start(2 * SECOND)
    assert budget.may_start(11 * SECOND)


@pytest.mark.parametrize("nothing", [SpeculationBudget(tokens=0), SpeculationBudget(share=0)])
def test_nothing_allowed_is_nothing_started(nothing: SpeculationBudget) -> None:
    assert not nothing.may_start(0)


@pytest.mark.parametrize("odd", [{"window": 0}, {"tokens": -1}, {"share": -0.1}])
def test_a_budget_out_of_range_is_refused(odd: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        SpeculationBudget(**odd)


COSTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3 * SECOND), st.integers(0, 4 * SECOND)), max_size=30)


@given(COSTS)
def test_no_window_holds_more_than_the_limits_and_one_start(costs: list[tuple[int, int, int]]) -> None:
    budget, now, started = small(), 0, list[tuple[int, int, int]]()
    for tokens, cpu, wait in costs:
        now += wait
        if budget.may_start(now):
            budget.spent(tokens, cpu, now)
            started.append((now, tokens, cpu))
    for end, _, _ in started:
        *before, last = [one for one in started if end - 10 * SECOND < one[0] <= end]
        assert sum(tokens for _, tokens, _ in before) < 100
        assert sum(cpu for _, _, cpu in before) < 5 * SECOND
        assert last[0] == end


def test_waiting_in_the_queue_costs_nothing() -> None:
    spans = [
        Span(stage=Stage.PREFILL, start=0, end=50 * MS, what="queue"),
        Span(stage=Stage.PREFILL, start=50 * MS, end=80 * MS, what="prefill"),
        Span(stage=Stage.DECODE, start=80 * MS, end=100 * MS, what="decode"),
    ]
    assert cost(Usage(prefilled_tokens=17, completion_tokens=3, spans=spans)) == (20, 50 * MS)
    assert cost(Usage()) == (0, 0)


def test_what_another_machine_does_costs_no_core_of_ours() -> None:
    spans = [Span(stage=Stage.PREFILL, start=0, end=50 * MS, what="network+server")]
    assert cost(Usage(completion_tokens=3, spans=spans, elsewhere=True)) == (3, 0)
