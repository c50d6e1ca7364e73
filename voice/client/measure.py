"""From what was recorded of a conversation to the records of its turns. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.account import has_gap, tiles
from turngap.budget.clock import MS, milliseconds
from turngap.budget.ledger import Wording
from turngap.budget.marks import Mark, Marked, Span, Stage
from turngap.budget.report.record import TurnRecord
from turngap.voice.asr.wer import word_errors
from turngap.voice.client.heard import HeardTurn, gap_ms, listen
from turngap.voice.client.truth import Utterance

SPOKEN: Final = frozenset({"answered", "interrupted"})
EARLY_S: Final = 0.5
"""A server's speech end may come this much before the onset that we found and still belong to that turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One of the user's turns in the tracks, and what is known of it beforehand."""

    name: str
    user: Utterance
    file: str | None = None
    reference: str | None = None


def measure(
    asked: Sequence[Asked],
    *,
    agent: NDArray[np.float32],
    rate_hz: int,
    turns: Sequence[Mapping[str, Any]],
) -> list[TurnRecord]:
    """One record for each of the user's turns, in order; ``turns`` are the server's reports."""
    heard = listen(agent, rate_hz, [each.user for each in asked])
    nexts = [*(each.user.start_s for each in asked[1:]), float("inf")]
    return [
        record(number, each, found, _between(turns, each.user.start_s - EARLY_S, before_s))
        for number, (each, found, before_s) in enumerate(zip(asked, heard, nexts, strict=True), 1)
    ]


def record(number: int, asked: Asked, heard: HeardTurn, reports: Sequence[Mapping[str, Any]]) -> TurnRecord:
    """The turn as it was heard, beside what the server reported of it (perhaps as several turns, or none)."""
    report = answering(reports, heard)
    server_end_s = report.get("speech_end_s")
    texts = [str(each["text"]) for each in reports if each.get("text")]
    errors = word_errors(asked.reference, " ".join(texts)) if asked.reference else None
    true_end_s = asked.user.end_s
    return TurnRecord(
        name=asked.name,
        turn=number,
        file=asked.file,
        answered=_answered(heard, report),
        cut_in=heard.cut_in,
        outcome=report.get("outcome"),
        heard_gap_ms=heard.gap_ms,
        first_content_gap_ms=_first_content(heard.gap_ms, report),
        reported_gap_ms=report.get("reported_gap_ms"),
        heard_from_server_end_ms=gap_ms(heard.first_audible_s, server_end_s),
        speech_end_error_ms=None if server_end_s is None else (server_end_s - true_end_s) * 1000.0,
        charges_ms={k: v for k, v in (report.get("charges_ms") or {}).items() if k != "residual"},
        residual_ms=report.get("residual_ms"),
        culprit=report.get("culprit"),
        allowances_ms=report.get("allowances_ms") or {},
        tiles=pieces(report.get("tiles")) or retiled(report),
        work=pieces(report.get("work") or report.get("spans")),
        marks=report.get("marks") or {},
        transcript=" ".join(texts) or None,
        reply=report.get("reply"),
        opener=report.get("opener") or None,
        speculation=report.get("speculation") or {},
        reference=asked.reference,
        words_wrong=None if errors is None else errors.total,
        words_reference=None if errors is None else errors.words,
        ledger=report.get("ledger"),
    )


def answering(reports: Sequence[Mapping[str, Any]], heard: HeardTurn) -> Mapping[str, Any]:
    """The report of the turn whose reply was heard; empty if none can be told.

    A turn that was cut in on has several reports; the one whose own reckoning puts the first sample nearest to where
    it was heard is the one that is spoken of. Where nothing was heard, the latest.
    """
    if not reports:
        return {}
    told = [
        each for each in reports if each.get("speech_end_s") is not None and each.get("reported_gap_ms") is not None
    ]
    if heard.first_audible_s is None or not told:
        return reports[-1]
    first_s = heard.first_audible_s
    return min(told, key=lambda each: abs(each["speech_end_s"] + each["reported_gap_ms"] / 1000.0 - first_s))


def failed(name: str, reason: str, *, number: int, file: str | None, reference: str | None = None) -> TurnRecord:
    """A turn that could not be played or heard, kept with the reason."""
    return TurnRecord(name=name, turn=number, file=file, outcome=f"failed: {reason}", reference=reference)


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


def _answered(heard: HeardTurn, report: Mapping[str, Any]) -> bool:
    """Whether there was a reply. An excuse for a failure is heard as well, and is none."""
    outcome = report.get("outcome")
    return outcome in SPOKEN or (outcome is None and heard.first_audible_s is not None)


def _between(turns: Sequence[Mapping[str, Any]], start_s: float, before_s: float) -> list[Mapping[str, Any]]:
    return [turn for turn in turns if start_s < _end_s(turn, otherwise=start_s) < before_s]


def _end_s(turn: Mapping[str, Any], *, otherwise: float) -> float:
    end = turn.get("speech_end_s")
    return otherwise if end is None else float(end)


def _first_content(heard_ms: float | None, report: Mapping[str, Any]) -> float | None:
    """Where the reply had an opener, its content is heard as much later as the server says it was sent later."""
    reported, content = report.get("reported_gap_ms"), report.get("first_content_gap_ms")
    if heard_ms is None or reported is None or (content is None and not report.get("opener")):
        return heard_ms
    if content is None:
        return None  # no more than the opener was heard
    return float(heard_ms + content - reported)
