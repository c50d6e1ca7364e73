"""What can be demanded of a run, and whether it is met. Pure.

A demand that cannot be decided, because nothing is known of what it asks for, is not met: a build that measured
nothing must not pass.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turngap.budget.gate.bootstrap import POWER
from turngap.budget.gate.compare import Comparison
from turngap.budget.percentiles import RANKS, supports


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What a run must keep; None is not asked for."""

    percentiles_ms: Mapping[int, float]
    within: float | None = None
    max_cut_in_rate: float | None = None
    no_regression: bool = False
    resolve: float | None = None
    """The comparison must be able to find a slowdown of so many per cent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A demand, and whether it is met."""

    demand: str
    met: bool
    says: str
    doubt: str | None = None
    """What the reader should know although it is met."""


def judge_run(run: Mapping[str, Any], demands: Demands, comparison: Comparison | None) -> list[Finding]:
    """Each demand, in the order in which they are listed."""
    return list(_judge(run, demands, comparison))


def _judge(run: Mapping[str, Any], demands: Demands, comparison: Comparison | None) -> Iterator[Finding]:
    for rank, limit in sorted(demands.percentiles_ms.items()):
        yield _percentile(run, rank, limit)
    if demands.within is not None:
        yield _within(run, demands.within)
    if demands.max_cut_in_rate is not None:
        yield _cut_ins(run, demands.max_cut_in_rate)
    if demands.no_regression and comparison is not None:
        yield _regression(comparison)
    if demands.resolve is not None and comparison is not None:
        yield _resolves(comparison, demands.resolve)


def _percentile(run: Mapping[str, Any], rank: int, limit: float) -> Finding:
    assert rank in RANKS
    which = run.get("decided_by", "heard")
    summary = run[f"{which}_gap_ms"]
    value, n = summary[f"p{rank}"], summary["n"]
    demand = f"p{rank} of the {which} gap within {limit:g} ms"
    if value is None:
        return Finding(demand=demand, met=False, says="no gap is known")
    few = None if supports(n, rank) else f"{n} turns are too few to tell p{rank} from the maximum"
    met = value <= limit
    blamed = "" if met else _blamed(run)
    return Finding(demand=demand, met=met, says=f"{value:.0f} ms over {n} turns{blamed}", doubt=few)


def _within(run: Mapping[str, Any], share: float) -> Finding:
    demand = f"{100 * share:g} % of turns within {run['budget_ms']:g} ms"
    kept = run["within_budget"]
    if kept is None:
        return Finding(demand=demand, met=False, says="there are no turns")
    met = kept >= share
    return Finding(demand=demand, met=met, says=f"{100 * kept:.1f} % of {run['turns']}{'' if met else _blamed(run)}")


def _cut_ins(run: Mapping[str, Any], rate: float) -> Finding:
    demand = f"cut-ins in at most {100 * rate:g} % of turns"
    if not run["turns"]:
        return Finding(demand=demand, met=False, says="there are no turns")
    found = run["cut_ins"] / run["turns"]
    says = f"{run['cut_ins']} of {run['turns']} ({100 * found:.1f} %)"
    return Finding(demand=demand, met=found <= rate, says=says)


def _regression(comparison: Comparison) -> Finding:
    demand = "no slower than the base"
    percent = comparison.percent()
    if percent is None:
        return Finding(demand=demand, met=False, says="too few turns in common to compare")
    value, low, high = percent
    spread = f"typical turn {value:+.1f} % (95 %: {low:+.1f} to {high:+.1f}, {comparison.turns} {_turns(comparison)})"
    if comparison.slower:
        stage = comparison.culprit
        grown = "" if stage is None else f"; {stage} grew by {comparison.stages_ms[stage].value:.0f} ms"
        return Finding(demand=demand, met=False, says=spread + grown)
    return Finding(demand=demand, met=True, says=spread, doubt=None if comparison.faster else _doubt(comparison))


def _resolves(comparison: Comparison, percent: float) -> Finding:
    demand = f"a slowdown of {percent:g} % would have been found"
    found, needed = comparison.resolution_percent(), comparison.needed(percent)
    if found is None or needed is None:
        return Finding(demand=demand, met=False, says="too few turns in common to compare")
    says = f"{comparison.turns} turns find {found:.1f} %; {percent:g} % takes {needed}"
    return Finding(demand=demand, met=found <= percent, says=says)


def _doubt(comparison: Comparison) -> str | None:
    found, needed = comparison.resolution_percent(), comparison.needed(10.0)
    if found is None or found <= 10.0:
        return None
    return (
        f"with {comparison.turns} turns only a slowdown of {found:.0f} % is found in {100 * POWER:.0f} % of "
        f"repetitions; 10 % takes about {needed}"
    )


def _blamed(run: Mapping[str, Any]) -> str:
    """Which stage blew the budget most often."""
    worst = max(run["blame"], key=lambda stage: run["blame"][stage], default=None)
    if worst is None or not run["blame"][worst]:
        return ""
    over = sum(run["blame"].values()) + run["unexplained"]
    return f"; {worst} blew {run['blame'][worst]} of {over} turns over budget"


def _turns(comparison: Comparison) -> str:
    return "pairs" if comparison.paired else "turns, unpaired"
