"""How long people pause in the middle of a turn, and this speaker in particular. Pure.

Pauses are taken for log-normal, as speech corpora have them: most last a third of a second, some a second. What is
known of all speakers is a prior; each pause that turned out to be inside a turn moves it towards this speaker's own.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

STANDARD: Final = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """What is known of all speakers: half of their pauses are longer than ``median_ms``."""

    median_ms: float = 300.0
    spread: float = 0.75
    """Of the logarithm: the longest sixth is 2.1 times the median or more."""
    weight: float = 4.0
    """How many of a speaker's own pauses count as much as this."""


class Patience:
    """The pauses of one speaker, as far as they are known."""

    def __init__(self, pauses: Pauses | None = None) -> None:
        self._prior = Pauses() if pauses is None else pauses
        self._count = 0
        self._sum = 0.0

    def paused(self, ms: float) -> None:
        """A pause of this length was inside a turn: the speaker went on after it."""
        self._count += 1
        self._sum += math.log(max(ms, 1.0))

    @property
    def median_ms(self) -> float:
        """Half of this speaker's pauses are probably longer."""
        prior = self._prior
        weighed = prior.weight * math.log(prior.median_ms) + self._sum
        return math.exp(weighed / (prior.weight + self._count))

    def longer(self, ms: float) -> float:
        """The chance that a pause inside a turn lasts longer than ``ms``."""
        if ms <= 0:
            return 1.0
        return 1.0 - STANDARD.cdf(math.log(ms / self.median_ms) / self._prior.spread)

    def until(self, chance: float) -> float:
        """After how many ms only so small a ``chance`` is left that a pause inside a turn goes on for longer."""
        if chance >= 1.0:
            return 0.0
        if chance <= 0.0:
            return math.inf
        return self.median_ms * math.exp(self._prior.spread * STANDARD.inv_cdf(1.0 - chance))
