"""Which stage blew the budget of a turn.

The variance of a stage is its charge less its allowance. Charges tile the gap and allowances tile the budget, so
the variances of all stages add up to the overrun. A stage that the gap did not wait for, or of which nothing is
known, has spent none of its allowance; its variance is all of it, unspent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from turngap.budget.allowance import Budget
from turngap.budget.clock import Ns
from turngap.budget.marks import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Who is to blame. ``overrun`` is negative where time was to spare, and then ``culprit`` is None."""

    variances: Mapping[Stage, Ns]
    overrun: Ns
    culprit: Stage | None


def judge(charges: Mapping[Stage, Ns | None], budget: Budget) -> Verdict:
    """Name the stage on the path with the largest variance, the earlier one of equals, if the turn is over."""
    variances = {stage: (charges.get(stage) or 0) - allowed for stage, allowed in budget.allowances.items()}
    overrun = sum(variances.values())
    on_path = [stage for stage in Stage if charges.get(stage) is not None]
    culprit = max(on_path, key=lambda stage: variances[stage]) if overrun > 0 else None
    return Verdict(variances=variances, overrun=overrun, culprit=culprit)


def sentence(*, culprit: Stage | None, charge_ms: float, allowance_ms: float, overrun_ms: float) -> str:
    """The verdict for people; charge and allowance are the culprit's, and unused where there is none."""
    if culprit is None:
        return f"within budget, {short(-overrun_ms)} ms to spare"
    over = f"the turn was {short(overrun_ms)} ms over"
    if culprit is Stage.RESIDUAL:
        return f"for {short(charge_ms)} ms no stage was at work, {short(allowance_ms)} are allowed; {over}"
    return f"{culprit} took {short(charge_ms)} of {short(allowance_ms)} ms; {over}"


def short(duration_ms: float) -> str:
    """Whole milliseconds, and below ten one decimal, so that little never reads as nothing."""
    if abs(duration_ms) >= 9.95:
        return f"{duration_ms:.0f}"
    if 0 < abs(duration_ms) < 0.05:
        return "under 0.1"
    return f"{duration_ms:.1f}".removesuffix(".0")
