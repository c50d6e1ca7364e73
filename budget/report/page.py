"""A run as one HTML file that needs nothing but a browser. Pure.

The page gets only what it shows, in tenths of a millisecond, so that thousands of turns open at once; it draws only the
turns that are in view.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from turngap.budget.gate.compare import Comparison, gaps
from turngap.budget.gate.show import sentence
from turngap.budget.marks import Stage
from turngap.budget.percentiles import Summary, figure
from turngap.budget.report.record import TurnRecord

STAGES: Final = tuple(stage.value for stage in Stage)
FATES: Final = ("started", "hit", "missed", "cancelled")
SLOT: Final = "/*RUN*/"


def page(
    template: str,
    run: Mapping[str, Any],
    *,
    base: Mapping[str, Any] | None = None,
    comparison: Comparison | None = None,
    sounds: Sequence[str | None] = (),
) -> str:
    """The page. ``sounds`` are what was heard of each turn, as data URLs, in the order of the turns."""
    records = [TurnRecord.from_json(turn) for turn in run["per_turn"]]
    heard = [*sounds, *[None] * (len(records) - len(sounds))]
    shown = {
        "name": str(run.get("run") or "run"),
        "about": _about(run, base),
        "stages": STAGES,
        "budget": run["budget_ms"],
        "figures": list(_figures(run)),
        "stage_rows": list(_stages(run)),
        "layers": list(_layers(records)),
        "environment": list(_environment(run["config"])),
        "comparison": None if comparison is None else _compared(comparison),
        "base_gaps": None if base is None else [round(gap, 1) for each in gaps(base).values() for gap in each],
        "turns": [_turn(record, sound) for record, sound in zip(records, heard, strict=True)],
    }
    # No text of a turn may end the element that it stands in.
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return template.replace(SLOT, text)


def _turn(record: TurnRecord, sound: str | None) -> dict[str, Any]:
    gap = record.decisive_gap_ms if record.answered else None
    found: dict[str, Any] = {
        "n": record.name,
        "g": None if gap is None else round(gap, 1),
        "o": _trouble(record),
        "c": None if record.culprit is None else STAGES.index(record.culprit),
        "s": record.sentence(),
        "t": [_piece(*tile) for tile in record.tiles],
        "w": [_piece(*span) for span in record.work],
    }
    optional = {"u": record.transcript, "a": record.reply, "p": sound}
    return {**found, **{key: value for key, value in optional.items() if value}}


def _piece(stage: str, start: float, end: float) -> tuple[int, float, float]:
    return STAGES.index(stage), round(start, 1), round(end, 1)


def _trouble(record: TurnRecord) -> str:
    if record.cut_in:
        return "cut in"
    if not record.answered:
        return "not answered"
    return "" if record.decisive_gap_ms is not None else "not heard"


def _about(run: Mapping[str, Any], base: Mapping[str, Any] | None) -> str:
    parts = [str(run["config"].get("date", "")), f"gaps as {run.get('decided_by', 'heard')}"]
    parts += [] if base is None else [f"compared with {base.get('run')}"]
    return " · ".join(part for part in parts if part)


def _figures(run: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    share, gap = run["within_budget"], run[f"{run.get('decided_by', 'heard')}_gap_ms"]
    kept = "–" if share is None else f"{100 * share:.0f} %"
    yield f"within {run['budget_ms']:g} ms", kept, "good" if share is not None and share >= 0.95 else "bad"
    for rank in (50, 95, 99):
        yield f"p{rank}, ms", figure(gap[f"p{rank}"], rank, gap["n"]), ""
    yield "turns", str(run["turns"]), ""
    for key, says in (("cut_ins", "cut in on"), ("unmeasured", "not heard")):
        yield says, str(run[key]), "bad" if run[key] else ""
    yield "not answered", str(run["turns"] - run["answered"]), "bad" if run["turns"] > run["answered"] else ""


def _stages(run: Mapping[str, Any]) -> Iterator[list[str]]:
    for stage, summary in {**run["stages_ms"], Stage.RESIDUAL.value: run["residual_ms"]}.items():
        allowed = run["allowances_ms"].get(stage)
        shares = [figure(summary[f"p{rank}"], rank, summary["n"]) for rank in (50, 95)]
        yield [stage, *shares, "–" if allowed is None else f"{allowed:.0f}", str(run["blame"].get(stage, 0) or "·")]


def _layers(records: Sequence[TurnRecord]) -> Iterator[list[str]]:
    fates: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(FATES, 0))
    won: dict[str, list[float | None]] = defaultdict(list)
    for record in records:
        for layer, found in (record.speculation.get("layers") or {}).items():
            for fate in FATES:
                fates[layer][fate] += found.get(fate, 0)
            if found.get("hit"):
                won[layer].append(found.get("won_ms"))
    for layer, counts in fates.items():
        median = Summary.of(won[layer]).p50
        yield [layer, *(str(counts[fate]) for fate in FATES), "–" if median is None else f"{median:.0f}"]


def _environment(config: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of the configuration; what hangs together in one line."""
    for key, value in config.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and any(isinstance(each, Mapping) for each in value.values()):
            yield from _environment(value, name)
        elif isinstance(value, Mapping):
            yield name, ", ".join(f"{k} {v}" for k, v in value.items())
        else:
            yield name, str(value)


def _compared(comparison: Comparison) -> dict[str, Any]:
    kind = "bad" if comparison.slower else "good" if comparison.faster else ""
    rows = [(stage, each.value, each.low, each.high) for stage, each in comparison.stages_ms.items()]
    return {"sentence": sentence(comparison), "kind": kind, "stages": rows}
