"""Percentiles that say when there are too few turns for them.

They are by *nearest rank*: the p-th percentile of n turns is the smallest of them that at least p % do not exceed.
So every figure is that of a turn that happened, and none is interpolated between two that did. Below n = 100 the
99th is then simply the maximum (below 20 the 95th, below 10 the 90th), and is marked as such wherever people see it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

RANKS: Final = (50, 90, 95, 99)
TOO_FEW: Final = "~"
"""Stands before a percentile that its n cannot support."""


def percentile(ordered: Sequence[float], rank: int) -> float:
    """The ``rank``-th percentile, by nearest rank, of values that are in ascending order and not none."""
    return ordered[max(0, (rank * len(ordered) + 99) // 100 - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The spread of one figure over turns: ``n`` of them known, ``unknown`` of them not."""

    n: int
    unknown: int
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    max: float | None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Summary":
        """Summarise ``values``; None (and what is no number) is counted as unknown, and nothing is left out."""
        given = list(values)
        known = sorted(value for value in given if value is not None and math.isfinite(value))
        found = {f"p{rank}": percentile(known, rank) if known else None for rank in RANKS}
        return cls(n=len(known), unknown=len(given) - len(known), max=known[-1] if known else None, **found)

    def supports(self, rank: int) -> bool:
        """Whether there are enough turns for this percentile to differ from the maximum."""
        return supports(self.n, rank)

    def to_json(self, *keys: str) -> dict[str, Any]:
        """``keys`` of the summary (all, where none is given) with n and the unknown beside them."""
        chosen = keys or (*(f"p{rank}" for rank in RANKS), "max")
        return {**{key: getattr(self, key) for key in chosen}, "n": self.n, "unknown": self.unknown}

    def __str__(self) -> str:
        if not self.n:
            return f"no figures (n 0{self._unknown()})"
        shown = "  ".join(f"p{rank} {figure(getattr(self, f'p{rank}'), rank, self.n)}" for rank in RANKS)
        few = "" if self.supports(RANKS[-1]) else f"; {TOO_FEW} too few for this percentile"
        return f"{shown}  max {self.max:.0f}  (n {self.n}{self._unknown()}{few})"

    def _unknown(self) -> str:
        return f", {self.unknown} unknown" if self.unknown else ""


def supports(n: int, rank: int) -> bool:
    """Whether ``n`` values are enough for a percentile: at least one of them lies beyond it."""
    return n * (100 - rank) >= 100


def figure(value: float | None, rank: int, n: int) -> str:
    """A percentile for people: whole, marked where n cannot support it, a dash where it is unknown."""
    if value is None:
        return "–"
    shown = "<1" if 0 < value < 0.5 else f"{value:.0f}"
    return shown if supports(n, rank) else TOO_FEW + shown
