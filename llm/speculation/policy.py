"""Whether a reply to words that are only supposed is worth its work. Pure.

At a pause the recogniser has a hypothesis that may lack the last words; the pass that knows them all takes as long as
a short reply. A draft on the hypothesis is ready sooner by that time, if the words stand, and is thrown away otherwise.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running hypothesis at a pause."""

    words: tuple[str, ...]
    uncovered_ms: float
    """Audio between the end of the pass that heard them and the last voiced sample."""


def nothing(running: Running) -> bool:
    """Drafts on no supposition."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Drafts where nearly all of the voice was listened to: no word fits into less than ``uncovered_ms``."""

    uncovered_ms: float = 160.0

    def __call__(self, running: Running) -> bool:
        return bool(running.words) and running.uncovered_ms <= self.uncovered_ms
