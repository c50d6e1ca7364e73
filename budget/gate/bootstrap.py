"""How sure a figure is that was taken from so many turns. Pure.

The bootstrap: draw as many turns again as there are, with replacement, take the figure of them, a few thousand times
over; what the figure varies by is what chance makes of it. The draws come from a generator that starts the same each
time, so one pair of runs always gets one answer.

The figure here is the *trimmed mean*: a fifth of the turns at either end is left out. Gaps have two or three modes (a
draft was right, or it was not), so a turn may well take twice as long as the same turn in another run by chance
alone; a plain mean would be ruled by those few, and a median knows little of the others.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

DRAWS: Final = 2000
AT_ONCE: Final = 1 << 20
"""Figures that are drawn at once, so that many turns do not take much memory."""
SEED: Final = 20_011
TRIM: Final = 0.2
SURE: Final = 0.975
"""One side of a two-sided 95 % interval: at most one comparison in forty calls a difference that is none."""

POWER: Final = 0.95
_Z_SURE: Final = 1.960
_Z_POWER: Final = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure, where it would lie in 95 % of repetitions, and what it was taken from."""

    value: float
    low: float
    high: float
    error: float
    """Standard error."""
    n: int

    def resolution(self) -> float:
        """The smallest true effect that such a comparison would have found in 95 % of repetitions."""
        return (_Z_SURE + _Z_POWER) * self.error

    def needed(self, effect: float) -> int:
        """How many turns would have found an effect of this size in 95 % of repetitions."""
        return max(self.n and 2, math.ceil(self.n * (self.resolution() / effect) ** 2))


def trimmed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the middle three fifths."""
    n = values.shape[-1]
    cut = int(TRIM * n)
    parted = np.partition(values, (cut, n - cut - 1), axis=-1)
    return np.asarray(parted[..., cut : n - cut].mean(axis=-1), np.float64)


def estimate(values: NDArray[np.float64]) -> Estimate | None:
    """The trimmed mean of ``values``; None where there are too few to say anything of its spread."""
    if len(values) < 2:
        return None
    draws = _draws(values, np.random.default_rng(SEED))
    return _of(float(trimmed(values)), draws, len(values))


def difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Estimate | None:
    """How much more the trimmed mean of ``ours`` is, where nothing says which belongs to which."""
    if min(len(ours), len(theirs)) < 2:
        return None
    generator = np.random.default_rng(SEED)
    draws = _draws(ours, generator) - _draws(theirs, generator)
    return _of(float(trimmed(ours) - trimmed(theirs)), draws, min(len(ours), len(theirs)))


def _draws(values: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    rows = max(1, AT_ONCE // len(values))
    sizes = [min(rows, DRAWS - done) for done in range(0, DRAWS, rows)]
    return np.concatenate(
        [trimmed(values[generator.integers(len(values), size=(size, len(values)))]) for size in sizes]
    )


def _of(value: float, draws: NDArray[np.float64], n: int) -> Estimate:
    low, high = np.quantile(draws, [1 - SURE, SURE])
    return Estimate(value=value, low=float(low), high=float(high), error=float(draws.std()), n=n)
