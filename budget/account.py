"""Where the gap of one turn went.

Stages overlap, so their durations do not add up to the gap, and a fixed order of stages would blame the wrong one.
Instead we walk back from ``SENT``, from each mark to the mark that released it, until ``SPEECH_END``: the critical
path. Every stretch of it, cause to mark, belongs to the stage that the mark ends. Where that stage's own spans show
it at work, the time is charged to it; the rest is *residual*, time in which the turn waited and the stage did
nothing: a blocked loop, a queue, a hidden timer.

Work may begin before the user has stopped. A path that goes back beyond ``SPEECH_END`` is clipped there. A path that
begins later, at a mark with no cause, leaves the time before it unexplained, which is residual as well. So the tiles
cover the gap without hole or overlap, whatever was written, and charges add up to the gap to the nanosecond.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from turngap.budget.allowance import Budget
from turngap.budget.clock import Ns, milliseconds
from turngap.budget.ledger import Wording
from turngap.budget.marks import ENDS, Mark, Marked, Span, Stage
from turngap.budget.verdict import judge, sentence


class Standing(StrEnum):
    """What is known of a stage in one turn. Neither of the latter two is a charge of 0."""

    ON_PATH = "on the path"
    BESIDE = "not on the path"
    """It was at work or done, and the gap did not wait for it."""
    UNKNOWN = "unknown"
    """Nothing was measured of it; if the gap waited for it, that time is in the residual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A part of the gap and the stage that it is charged to."""

    stage: Stage
    start: Ns
    end: Ns


def critical_path(marks: Mapping[Mark, Marked], end: Mark) -> Iterator[tuple[Mark, Mark]]:
    """Walk back from ``end`` to the mark that released each one, latest stretch first."""
    while (cause := marks[end].released_by) is not None:
        yield cause, end
        end = cause


def has_gap(wording: Wording) -> bool:
    """Whether there is a gap to explain: a reply left, and not before the user's speech ended."""
    marks = wording.marks
    if Mark.SPEECH_END not in marks or Mark.SENT not in marks:
        return False
    return marks[Mark.SENT].at >= marks[Mark.SPEECH_END].at


def stretches(wording: Wording) -> list[tuple[Mark, Mark]]:
    """The critical path inside the gap, earliest first, as pairs of cause and mark."""
    marks, start = wording.marks, wording.marks[Mark.SPEECH_END].at
    path = [pair for pair in critical_path(marks, Mark.SENT) if marks[pair[1]].at >= start]
    return path[::-1]


def tiles(wording: Wording) -> tuple[Tile, ...]:
    """Parts of the gap, each charged to one stage, that cover it without hole or overlap, earliest first.

    The wording must have a gap (:func:`has_gap`).
    """
    marks, start = wording.marks, wording.marks[Mark.SPEECH_END].at
    path = stretches(wording)
    root = marks[path[0][0]].at if path else marks[Mark.SENT].at
    found = [Tile(stage=Stage.RESIDUAL, start=start, end=root)] if root > start else []
    for cause, mark in path:
        found += _lay(ENDS[mark], max(start, marks[cause].at), marks[mark].at, wording.spans)
    return tuple(found)


def charges(wording: Wording) -> dict[Stage, Ns | None]:
    """What each stage is charged of the gap; the numbers add up to the gap.

    None is a stage beside the path. A stage of which nothing was measured has no entry. The residual always has one.
    The wording must have a gap (:func:`has_gap`).
    """
    totals = dict.fromkeys(Stage, 0)
    for tile in tiles(wording):
        totals[tile.stage] += tile.end - tile.start
    found: dict[Stage, Ns | None] = {}
    for stage in Stage:
        standing = _standing(stage, wording)
        if standing is not Standing.UNKNOWN:
            found[stage] = totals[stage] if standing is Standing.ON_PATH else None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The gap of one revision, explained: ``sum of charges == gap`` and ``sum of variances == overrun``."""

    turn: int
    revision: int
    gap: Ns
    charges: Mapping[Stage, Ns | None]
    """As :func:`charges` gives them: None is beside the path, no entry is unknown."""
    allowances: Mapping[Stage, Ns]
    variances: Mapping[Stage, Ns]
    overrun: Ns
    culprit: Stage | None
    path: tuple[Mark, ...]
    """The marks of the critical path, earliest first; where work began before the gap, the last one before it leads."""
    tiles: tuple[Tile, ...]

    @classmethod
    def of(cls, wording: Wording, budget: Budget) -> "Account | None":
        """Explain the gap of ``wording``; None where it has none to explain (no reply left, or left too early)."""
        if not has_gap(wording):
            return None
        charged = charges(wording)
        verdict = judge(charged, budget)
        path = stretches(wording)
        return cls(
            turn=wording.turn,
            revision=wording.revision,
            gap=wording.marks[Mark.SENT].at - wording.marks[Mark.SPEECH_END].at,
            charges=MappingProxyType(charged),
            allowances=budget.allowances,
            variances=MappingProxyType(dict(verdict.variances)),
            overrun=verdict.overrun,
            culprit=verdict.culprit,
            path=(*(cause for cause, _ in path), Mark.SENT),
            tiles=tiles(wording),
        )

    @property
    def residual(self) -> Ns:
        """Time of the gap in which no stage was at work."""
        return self.charges[Stage.RESIDUAL] or 0

    def standing(self, stage: Stage) -> Standing:
        """Whether ``stage`` is on the path, beside it, or unknown."""
        if stage not in self.charges:
            return Standing.UNKNOWN
        return Standing.BESIDE if self.charges[stage] is None else Standing.ON_PATH

    def sentence(self) -> str:
        """The verdict for people."""
        blamed = self.culprit or Stage.RESIDUAL
        return sentence(
            culprit=self.culprit,
            charge_ms=milliseconds(self.charges[blamed] or 0),
            allowance_ms=milliseconds(self.allowances[blamed]),
            overrun_ms=milliseconds(self.overrun),
        )

    def to_json(self) -> dict[str, Any]:
        """The account in ms. In ``charges_ms`` null is beside the path, and a stage that is missing is unknown."""
        return {
            "turn": self.turn,
            "revision": self.revision,
            "gap_ms": milliseconds(self.gap),
            "charges_ms": {k.value: None if v is None else milliseconds(v) for k, v in self.charges.items()},
            "allowances_ms": {k.value: milliseconds(v) for k, v in self.allowances.items()},
            "variances_ms": {k.value: milliseconds(v) for k, v in self.variances.items()},
            "overrun_ms": milliseconds(self.overrun),
            "culprit": self.culprit and self.culprit.value,
            "path": [mark.value for mark in self.path],
        }


def _lay(stage: Stage, start: Ns, end: Ns, spans: Iterable[Span]) -> Iterator[Tile]:
    """Cover ``start`` to ``end``: with ``stage`` where one of its spans is, with residual elsewhere."""
    at = start
    for span in sorted((span for span in spans if span.stage is stage), key=lambda span: span.start):
        work_start, work_end = max(at, span.start), min(end, span.end)
        if work_end <= work_start:
            continue
        if work_start > at:
            yield Tile(stage=Stage.RESIDUAL, start=at, end=work_start)
        yield Tile(stage=stage, start=work_start, end=work_end)
        at = work_end
    if at < end:
        yield Tile(stage=Stage.RESIDUAL, start=at, end=end)


def _standing(stage: Stage, wording: Wording) -> Standing:
    if stage is Stage.RESIDUAL:
        return Standing.ON_PATH
    start = wording.marks[Mark.SPEECH_END].at
    waited = [
        wording.marks[mark].at - max(start, wording.marks[cause].at)
        for cause, mark in stretches(wording)
        if ENDS[mark] is stage
    ]
    worked = any(span.stage is stage for span in wording.spans)
    if waited:
        # Waited for and never seen at work: the time is real, but whether it was this stage's is not known.
        return Standing.ON_PATH if worked or not any(waited) else Standing.UNKNOWN
    ended = any(ENDS.get(mark) is stage for mark in wording.marks)
    return Standing.BESIDE if worked or ended else Standing.UNKNOWN
