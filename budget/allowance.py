"""How long a turn may take, and what each stage may take of it.

The allowances add up to the total, to the nanosecond; that is what makes the variances of the stages add up to the
overrun of the turn.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from turngap.budget.clock import MS, Ns, milliseconds
from turngap.budget.errors import ConfigurationError
from turngap.budget.marks import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A total and its split into allowances, one for every stage, the residual included."""

    total: Ns
    allowances: Mapping[Stage, Ns]

    def __post_init__(self) -> None:
        if missing := [stage.value for stage in Stage if stage not in self.allowances]:
            raise ConfigurationError(
                f"the budget has no allowance for {', '.join(missing)}", remedy="Give every stage one, 0 if need be"
            )
        if negative := [stage.value for stage, allowed in self.allowances.items() if allowed < 0]:
            raise ConfigurationError(
                f"the allowance of {', '.join(negative)} is negative", remedy="Give 0 for a stage that may take no time"
            )
        split = sum(self.allowances.values())
        if split != self.total:
            raise ConfigurationError(
                f"the allowances add up to {milliseconds(split):g} ms, the budget is {milliseconds(self.total):g} ms",
                remedy=f"Set the budget to {milliseconds(split):g} ms, or change the allowances to fit",
            )
        ordered = {stage: self.allowances[stage] for stage in Stage}
        object.__setattr__(self, "allowances", MappingProxyType(ordered))

    @classmethod
    def of(cls, total_ms: float) -> "Budget":
        """A budget of ``total_ms``, split in the proportions of :data:`DEFAULT`."""
        if not math.isfinite(total_ms) or total_ms <= 0:
            raise ConfigurationError(
                f"a budget of {total_ms:g} ms cannot be kept", remedy="Give a number of milliseconds above 0"
            )
        return DEFAULT.scaled(round(total_ms * MS))

    def scaled(self, total: Ns) -> "Budget":
        """The same proportions of another total. Each share is cut between rounded sums, so none is lost."""
        allowances: dict[Stage, Ns] = {}
        before = 0
        for stage, allowed in self.allowances.items():
            after = before + allowed
            allowances[stage] = total * after // self.total - total * before // self.total
            before = after
        return Budget(total=total, allowances=allowances)

    def to_json(self) -> dict[str, Any]:
        """Total and allowances in ms."""
        return {
            "total_ms": milliseconds(self.total),
            "allowances_ms": {stage.value: milliseconds(allowed) for stage, allowed in self.allowances.items()},
        }


DEFAULT: Final = Budget(
    total=500 * MS,
    allowances={
        # To notice that the voice is gone. The hangover itself runs beside the work that begins then.
        Stage.ENDPOINTING: 100 * MS,
        # The last pass is the bulk of it: the encoder alone takes 120 to 140 ms.
        Stage.ASR: 230 * MS,
        Stage.DISPATCH: 5 * MS,
        Stage.PREFILL: 60 * MS,
        Stage.DECODE: 45 * MS,
        Stage.TTS: 45 * MS,
        Stage.PLAYOUT: 5 * MS,
        Stage.RESIDUAL: 10 * MS,
    },
)
"""Past 500 ms an answer feels slow. The split is that of turns which made it, with local models on two CPU cores
(``turngap bench`` over recorded orders), rounded."""
