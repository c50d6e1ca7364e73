"""The one place that reads time.

Everything else takes an instant as an argument, in integer nanoseconds of one monotonic clock, so that
decisions can be replayed and tests need no sleep.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias

Ns: TypeAlias = int
"""An instant of the monotonic clock, or a duration, in nanoseconds."""

Clock: TypeAlias = Callable[[], Ns]
"""Whatever tells the present instant: :func:`monotonic`, or a test's own hand."""

MS: Final[Ns] = 1_000_000
SECOND: Final[Ns] = 1_000_000_000


def monotonic() -> Ns:
    """The present instant. On one machine every process shares its epoch; across machines none does."""
    return time.monotonic_ns()


def process_cpu() -> Ns:
    """CPU time that this process has used so far, all threads together."""
    return time.process_time_ns()


def calendar() -> datetime:
    """The date and time of day in UTC, for labels only; never subtracted from anything."""
    return datetime.now(UTC)


def milliseconds(duration: Ns) -> float:
    """Nanoseconds as milliseconds, for people and for JSON."""
    return duration / MS
