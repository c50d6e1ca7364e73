"""From what was recorded of a conversation to the records of its turns. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.report.record import TurnRecord
from turngap.budget.report.reported import SPOKEN, servers_part
from turngap.voice.asr.wer import word_errors
from turngap.voice.client.heard import HeardTurn, gap_ms, listen
from turngap.voice.client.truth import Utterance

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
        heard_gap_ms=heard.gap_ms,
        first_content_gap_ms=_first_content(heard.gap_ms, report),
        heard_from_server_end_ms=gap_ms(heard.first_audible_s, server_end_s),
        speech_end_error_ms=None if server_end_s is None else (server_end_s - true_end_s) * 1000.0,
        transcript=" ".join(texts) or None,
        reference=asked.reference,
        words_wrong=None if errors is None else errors.total,
        words_reference=None if errors is None else errors.words,
        **servers_part(report),
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
