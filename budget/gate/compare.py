"""Two runs beside each other: what differs by more than chance. Pure.

Turns are paired by the clip that was played. What is compared of a pair is the ratio of its gaps, as a logarithm: twice
as long and half as long are then equally far from the same, and ten per cent slower means the same to a hit of 200 ms
as to a miss of 900. A clip that was played several times counts once, with the mean of its ratios. Where no clip is in
both runs (conversations of people), the runs are compared as a whole, and it takes more turns to find the same
difference.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from turngap.budget.gate.bootstrap import Estimate, difference, estimate
from turngap.budget.marks import Stage
from turngap.budget.report.record import TurnRecord

SHORTEST_MS: Final = 1.0
"""Below this a ratio says nothing; a talked-over turn has no gap at all and is not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How much slower a run is than its base."""

    paired: bool
    turns: int
    """Pairs, or where there are none, turns of the smaller run."""
    slowdown: Estimate | None
    """Of the typical turn, as a logarithm of the ratio; None with fewer than two turns."""
    stages_ms: Mapping[str, Estimate]
    """For each stage that both runs know: how much more it is charged, in ms."""

    @property
    def slower(self) -> bool:
        """Whether the run is slower than its base, by more than chance."""
        return self.slowdown is not None and self.slowdown.low > 0

    @property
    def faster(self) -> bool:
        return self.slowdown is not None and self.slowdown.high < 0

    @property
    def culprit(self) -> str | None:
        """The stage that grew most, of those that grew by more than chance."""
        grown = {stage: each.value for stage, each in self.stages_ms.items() if each.low > 0}
        return max(grown, key=lambda stage: grown[stage], default=None)

    def percent(self) -> tuple[float, float, float] | None:
        """The slowdown of the typical turn in per cent, and the ends of its 95 % interval."""
        if self.slowdown is None:
            return None
        low, value, high = (100 * float(np.expm1(each)) for each in _ends(self.slowdown))
        return value, low, high

    def resolution_percent(self) -> float | None:
        """The slowdown that a comparison of so many turns finds in 95 % of repetitions."""
        return None if self.slowdown is None else 100 * float(np.expm1(self.slowdown.resolution()))

    def needed(self, percent: float) -> int | None:
        """How many turns find a slowdown of so much in 95 % of repetitions."""
        return None if self.slowdown is None else self.slowdown.needed(float(np.log1p(percent / 100)))


def compare(run: Mapping[str, Any], base: Mapping[str, Any]) -> Comparison:
    """``run`` against ``base``, both as a run's JSON."""
    ours, theirs = gaps(run), gaps(base)
    common = sorted(set(ours) & set(theirs))
    if common:
        ratios = np.array([np.mean(np.log(ours[name])) - np.mean(np.log(theirs[name])) for name in common])
        slowdown, turns = estimate(ratios), len(common)
    else:
        slowdown = difference(np.log(_all(ours.values())), np.log(_all(theirs.values())))
        turns = min(sum(map(len, ours.values())), sum(map(len, theirs.values())))
    return Comparison(paired=bool(common), turns=turns, slowdown=slowdown, stages_ms=_stages(run, base, common))


def gaps(run: Mapping[str, Any]) -> dict[str, list[float]]:
    """The gap that decides, of every turn that has one, by the turn's name."""
    found: dict[str, list[float]] = defaultdict(list)
    for turn in _answered(run):
        if turn.decisive_gap_ms is not None:
            found[turn.name].append(max(SHORTEST_MS, turn.decisive_gap_ms))
    return dict(found)


def _stages(run: Mapping[str, Any], base: Mapping[str, Any], common: Sequence[str]) -> dict[str, Estimate]:
    found = {}
    for stage in Stage:
        ours, theirs = _charges(run, stage), _charges(base, stage)
        if common:
            names = [name for name in common if name in ours and name in theirs]
            each = estimate(np.array([np.mean(ours[name]) - np.mean(theirs[name]) for name in names]))
        else:
            each = difference(_all(ours.values()), _all(theirs.values()))
        if each is not None:
            found[stage.value] = each
    return found


def _charges(run: Mapping[str, Any], stage: Stage) -> dict[str, list[float]]:
    """What the stage took of each gap; nothing where it was beside the path, no entry where it is unknown."""
    found: dict[str, list[float]] = defaultdict(list)
    for turn in _answered(run):
        if stage is Stage.RESIDUAL and turn.residual_ms is not None:
            found[turn.name].append(turn.residual_ms)
        elif stage.value in turn.charges_ms:
            found[turn.name].append(turn.charges_ms[stage.value] or 0.0)
    return dict(found)


def _answered(run: Mapping[str, Any]) -> list[TurnRecord]:
    records = (TurnRecord.from_json(turn) for turn in run["per_turn"])
    return [record for record in records if record.answered and not record.cut_in]


def _all(groups: Iterable[list[float]]) -> Any:  # numpy's array of floats
    return np.array([each for group in groups for each in group], np.float64)


def _ends(slowdown: Estimate) -> tuple[float, float, float]:
    return slowdown.low, slowdown.value, slowdown.high
