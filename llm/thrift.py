"""How much may be spent on replies that nobody may want. Pure; the time is an argument.

Speculation costs a core its time and, at a paid backend, money. Priorities keep it from delaying a live reply, but
not from heating the machine or filling the bill, and on two cores hearing and speaking need the rest of them.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from turngap.budget.clock import SECOND, Ns
from turngap.budget.errors import ConfigurationError
from turngap.llm.protocol import Usage

WINDOW: Final[Ns] = 30 * SECOND
"""About three turns: long enough to spend in the pauses what the speech before did not need."""

TOKENS: Final = 1_500
"""In a window, prefilled or generated: about a dozen drafts, or the replies to a dozen things that might be said."""

SHARE: Final = 0.4
"""Of one core over a window: less than the half that hearing leaves free on two cores."""


class _Spent(NamedTuple):
    at: Ns
    tokens: int
    cpu: Ns


@dataclass(slots=True, kw_only=True)
class SpeculationBudget:
    """What one conversation may spend on speculation in any ``window``; spending over it only stops the next start.

    A start is allowed while both limits have something left. What runs already is not cut off: a draft is short, and
    half a draft is worth nothing.
    """

    window: Ns = WINDOW
    tokens: int = TOKENS
    share: float = SHARE
    _spent: deque[_Spent] = field(default_factory=deque, init=False)

    def __post_init__(self) -> None:
        if self.window <= 0 or self.tokens < 0 or self.share < 0:
            raise ConfigurationError(
                "a speculation budget is out of range", remedy="window > 0, tokens >= 0, share >= 0"
            )

    def may_start(self, now: Ns) -> bool:
        """Whether something speculative may begin."""
        self._forget(now)
        tokens, cpu = sum(one.tokens for one in self._spent), sum(one.cpu for one in self._spent)
        return tokens < self.tokens and cpu < self.share * self.window

    def spent(self, tokens: int, cpu: Ns, at: Ns) -> None:
        """So much was spent at ``at``; a number that is unknown is better guessed than left out."""
        self._forget(at)
        self._spent.append(_Spent(at, max(0, tokens), max(0, cpu)))

    def _forget(self, now: Ns) -> None:
        while self._spent and self._spent[0].at <= now - self.window:
            self._spent.popleft()


def cost(usage: Usage) -> tuple[int, Ns]:
    """Tokens that a reply made the model compute, and how long it kept a core of ours at it."""
    tokens = (usage.prefilled_tokens or 0) + (usage.completion_tokens or 0)
    if usage.elsewhere:
        return tokens, 0
    return tokens, sum(span.end - span.start for span in usage.spans if span.what != "queue")
