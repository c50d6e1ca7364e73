"""A loop whose time leaps: when nothing is left to do, the next timer is due at once.

Shells are tested on it with the shipped fakes. Whatever they await costs the time that they ask for and no more, so
a conversation of a minute takes milliseconds and ends at the same nanosecond every time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from turngap.budget.clock import SECOND, Ns

Result = TypeVar("Result")


class _LeapingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now: Ns = 1000 * SECOND

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits for something that will not come")
        if not ready and timeout:
            self.now += max(1, round(timeout * SECOND))
        return ready


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop on which waiting is free."""

    def __init__(self) -> None:
        self._leaping = _LeapingSelector()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.now / SECOND

    def clock(self) -> Ns:
        """The loop's time as the clock that sessions are given."""
        return self._leaping.now

    def stall(self, duration: Ns) -> None:
        """Let time pass while nothing else can run, as blocking code does."""
        self._leaping.now += duration


def run(loop: LeapingLoop, work: Coroutine[Any, Any, Result]) -> Result:
    """Run ``work`` to its end on ``loop`` and close the loop."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(work)
