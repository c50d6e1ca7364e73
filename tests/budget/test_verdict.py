"""The stage that blew the budget is the one furthest beyond its allowance."""

import pytest
from example_budget import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS
from turngap.budget.marks import Stage
from turngap.budget.verdict import judge, sentence, short

ALLOWED = {stage: allowed for stage, allowed in EXAMPLE.allowances.items()}


def test_within_the_budget_nobody_is_to_blame_though_a_stage_was_over() -> None:
    verdict = judge({**ALLOWED, Stage.ASR: 100 * MS, Stage.TTS: 0}, EXAMPLE)
    assert (verdict.culprit, verdict.overrun) == (None, -40 * MS)


def test_over_the_budget_the_largest_variance_is_to_blame_not_the_largest_charge() -> None:
    verdict = judge({**ALLOWED, Stage.ENDPOINTING: 215 * MS, Stage.PLAYOUT: 50 * MS}, EXAMPLE)
    assert (verdict.culprit, verdict.overrun) == (Stage.PLAYOUT, 45 * MS)


def test_of_equals_the_earlier_stage_is_to_blame() -> None:
    assert judge({**ALLOWED, Stage.TTS: 90 * MS, Stage.ASR: 110 * MS}, EXAMPLE).culprit is Stage.ASR


def test_a_stage_beside_the_path_has_its_allowance_unspent() -> None:
    charged = {Stage.ENDPOINTING: 600 * MS, Stage.TTS: None, Stage.RESIDUAL: 0}
    verdict = judge(charged, EXAMPLE)
    assert verdict.variances[Stage.TTS] == verdict.variances[Stage.DECODE] + 10 * MS == -60 * MS
    assert (verdict.culprit, verdict.overrun) == (Stage.ENDPOINTING, 100 * MS)


@given(st.dictionaries(st.sampled_from(list(Stage)), st.none() | st.integers(0, 10**12)))
def test_variances_add_up_to_the_overrun(charged: dict[Stage, int | None]) -> None:
    verdict = judge(charged, EXAMPLE)
    assert sum(verdict.variances.values()) == verdict.overrun
    assert verdict.overrun == sum(charge or 0 for charge in charged.values()) - EXAMPLE.total


def test_the_verdict_is_a_sentence() -> None:
    said = sentence(culprit=Stage.ASR, charge_ms=312.2, allowance_ms=80, overrun_ms=140.4)
    assert said == "asr took 312 of 80 ms; the turn was 140 ms over"


@pytest.mark.parametrize(
    ("duration_ms", "said"),
    [
        (0, "0"),
        (0.04, "under 0.1"),
        (0.26, "0.3"),
        (4.0, "4"),
        (9.94, "9.9"),
        (9.96, "10"),
        (312.4, "312"),
        (-40, "-40"),
    ],
)
def test_little_never_reads_as_nothing(duration_ms: float, said: str) -> None:
    assert short(duration_ms) == said
