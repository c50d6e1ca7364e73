"""From what a server reports of a turn to the turn's record, for whoever has nothing but the server's word. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from turngap.budget.account import has_gap, tiles
from turngap.budget.clock import MS, milliseconds
from turngap.budget.ledger import Wording
from turngap.budget.marks import Mark, Marked, Span, Stage
from turngap.budget.report.record import TurnRecord

SPOKEN: Final = frozenset({"answered", "interrupted"})
"""Outcomes of a turn that had a reply. An excuse for a failure is heard as well, and is none."""


def reported(report: Mapping[str, Any], *, name: str) -> TurnRecord:
    """The record of a turn that nobody listened to but the server."""
    return TurnRecord(
        name=name,
        turn=report["turn"],
        answered=report.get("outcome") in SPOKEN,
        first_content_gap_ms=report.get("first_content_gap_ms"),
        transcript=report.get("text") or None,
        **servers_part(report),
    )


def servers_part(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a record holds of the report as it is, as keyword arguments; an empty report leaves all of it unknown."""
    return {
        "outcome": report.get("outcome"),
        "reported_gap_ms": report.get("reported_gap_ms"),
        "charges_ms": {k: v for k, v in (report.get("charges_ms") or {}).items() if k != Stage.RESIDUAL},
        "residual_ms": report.get("residual_ms"),
        "culprit": report.get("culprit"),
        "allowances_ms": report.get("allowances_ms") or {},
        "tiles": pieces(report.get("tiles")) or retiled(report),
        "work": pieces(report.get("work") or report.get("spans")),
        "marks": report.get("marks") or {},
        "reply": report.get("reply"),
        "opener": report.get("opener") or None,
        "speculation": report.get("speculation") or {},
        "ledger": report.get("ledger"),
    }


def pieces(found: Iterable[Any] | None) -> tuple[tuple[str, float, float], ...]:
    """``(stage, start, end)`` from a report's spans, whichever way it spells them."""
    read = []
    for piece in found or ():
        if isinstance(piece, Mapping):
            read.append((str(piece["stage"]), float(piece["start_ms"]), float(piece["end_ms"])))
        else:
            stage, start, end = piece
            read.append((str(stage), float(start), float(end)))
    return tuple(read)


def retiled(report: Mapping[str, Any]) -> tuple[tuple[str, float, float], ...]:
    """The tiles of the gap, laid once more from the path, marks and spans of a report that does not spell them out."""
    path = [Mark(mark) for mark in report.get("path") or ()]
    marks = {Mark(mark): round(at * MS) for mark, at in (report.get("marks") or {}).items()}
    if not path or any(mark not in marks for mark in (*path, Mark.SPEECH_END)):
        return ()
    causes = dict(zip(path[1:], path, strict=False))
    wording = Wording(
        turn=0,
        revision=0,
        marks={mark: Marked(mark=mark, at=at, released_by=causes.get(mark)) for mark, at in marks.items()},
        spans=tuple(
            Span(stage=Stage(stage), start=round(start * MS), end=round(end * MS))
            for stage, start, end in pieces(report.get("spans"))
        ),
        notes={},
    )
    if not has_gap(wording):
        return ()
    return tuple((tile.stage.value, milliseconds(tile.start), milliseconds(tile.end)) for tile in tiles(wording))
