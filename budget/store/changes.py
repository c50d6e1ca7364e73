"""What can happen to a run, as facts that the store can take in later, in the order in which they happened. Pure.

A change says everything about itself, so that it can wait in a queue while nobody has time for a disk.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from turngap.budget.report.record import TurnRecord

PASSING: Final = frozenset({"date", "client", "url"})
"""What differs between two runs of one configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegan:
    """A server opened its port, or a bench its first line."""

    run: str
    kind: str
    at: str
    config: Mapping[str, Any]
    budget: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescribed:
    """What was learned of the run's circumstances later than at its beginning."""

    run: str
    config: Mapping[str, Any]
    budget: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """Nothing more will come of it. ``ending`` is a word: ``stopped``, or ``killed`` where somebody else found out."""

    run: str
    at: str
    ending: str = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan:
    """A user has begun to speak."""

    run: str
    conversation: int
    turn: int
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """What was heard of a turn, as a file of this media type."""

    type: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A turn is over, and this is its record. ``record`` and ``audio`` are asked for where time does not matter."""

    run: str
    conversation: int
    turn: int
    at: str
    record: Callable[[], TurnRecord]
    audio: Callable[[], Audio | None]


Change: TypeAlias = RunBegan | RunDescribed | RunEnded | TurnBegan | TurnEnded


def fingerprint(config: Mapping[str, Any]) -> str:
    """Twelve letters that are the same for two runs of the same models, settings, versions and machine."""
    lasting = {key: value for key, value in config.items() if key not in PASSING}
    text = json.dumps(lasting, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
