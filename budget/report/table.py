"""The table at the end of a run: how long people waited, where it went, and who is to blame."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from turngap.budget.marks import Stage
from turngap.budget.percentiles import RANKS, TOO_FEW, figure, supports
from turngap.budget.report.bars import ASCII, UNICODE, Glyphs, bar
from turngap.budget.verdict import short

NAME = 20
GAPS = {
    "heard_gap_ms": "heard gap",
    "first_content_gap_ms": "first content",
    "reported_gap_ms": "reported gap",
    "disagreement_ms": "disagreement",
    "speech_end_error_ms": "speech end error",
}


def table(run: Mapping[str, Any]) -> "RunTable":
    """A run's JSON as something that rich can print."""
    return RunTable(run)


class RunTable:
    """A run that rich can print."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        self.run = run

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = ASCII if options.ascii_only else UNICODE
        width = max(60, min(120, options.max_width))
        yield self._headline(glyphs)
        yield Text()
        yield self._gaps(glyphs)
        yield Text()
        yield self._stages(glyphs, width)
        yield Text()
        yield from self._footnotes(glyphs)

    def _headline(self, glyphs: Glyphs) -> Text:
        run = self.run
        share = run["within_budget"]
        kept = "no turns" if share is None else f"{100 * share:.0f} % within {run['budget_ms']:g} ms"
        line = Text("  ").append(kept, "bold green" if share is not None and share >= 0.95 else "bold red")
        counts = [("turn" if run["turns"] == 1 else "turns", run["turns"], ""), ("answered", run["answered"], "")]
        counts += [("cut in", run["cut_ins"], "bold red"), ("unmeasured", run["unmeasured"], "bold red")]
        for word, count, alarm in counts:
            line.append(f" {glyphs.dot} ", "dim").append(f"{count} {word}", alarm if count else "")
        return line

    def _gaps(self, glyphs: Glyphs) -> Table:
        grid = _grid("ms", *(f"p{rank}" for rank in RANKS), "max", "n", "unknown")
        for key, name in GAPS.items():
            summary = self.run[key]
            n = summary["n"]
            cells = [_cell(summary, rank, glyphs) for rank in RANKS]
            cells.append(_most(summary, glyphs))
            bold = "bold" if key == "heard_gap_ms" else ""
            unknown = _count(summary["unknown"], "yellow", glyphs)
            grid.add_row(Text(f"  {name}", bold), *cells, Text(str(n), "dim"), unknown, style=bold)
        return grid

    def _stages(self, glyphs: Glyphs, width: int) -> Table:
        run, chart = self.run, max(8, width - NAME - 6 * 8 - 2)
        summaries = {**run["stages_ms"], Stage.RESIDUAL.value: run["residual_ms"]}
        scale = max((summary["p95"] or 0.0 for summary in summaries.values()), default=0.0) or 1.0
        worst = max(run["blame"].values(), default=0)
        grid = _grid("ms", "p50", "p95", "allowed", "blew", "beside", "unknown", "")
        for stage, summary in summaries.items():
            blew = run["blame"].get(stage, 0)
            style = "bold red" if blew and blew == worst else "yellow" if blew else ""
            grid.add_row(
                Text(f"  {stage}", style),
                _cell(summary, 50, glyphs),
                _cell(summary, 95, glyphs),
                Text(_allowed(run, stage, glyphs), "dim"),
                _count(blew, style, glyphs),
                _count(summary.get("beside", 0), "dim", glyphs),
                _count(summary["unknown"], "yellow", glyphs),
                _spread(summary, scale, chart, glyphs),
            )
        return grid

    def _footnotes(self, glyphs: Glyphs) -> Iterator[Text]:
        run = self.run
        llm = run["config"].get("llm")  # of another server, whatever it says of itself
        if isinstance(llm, Mapping) and (simulated := llm.get("simulated")) is not None:
            yield Text(f"  the language model's timing is SIMULATED: {simulated}", "bold yellow")
        if run["unexplained"]:
            turns = "1 turn" if run["unexplained"] == 1 else f"{run['unexplained']} turns"
            yield Text(f"  {turns} over by the heard gap, not by the reported one: no stage to blame", "yellow")
        found = []
        if run["speech_end_error_ms"]["bias"] is not None:
            bias = run["speech_end_error_ms"]["bias"]
            found.append(f"speech end {short(abs(bias))} ms {'late' if bias >= 0 else 'early'} in the mean")
        if run["wer"] is not None:
            found.append(f"word error rate {100 * run['wer']:.1f} %")
        if found:
            yield Text(f"  {f' {glyphs.dot} '.join(found)}", "dim")
        if not all(supports(run["heard_gap_ms"]["n"], rank) for rank in RANKS):
            yield Text(f"  {TOO_FEW} too few turns to tell this percentile from the maximum", "dim")


def _grid(first: str, *others: str) -> Table:
    grid = Table(box=None, padding=0, show_edge=False, pad_edge=False, header_style="dim")
    grid.add_column(f"  {first}", width=NAME, no_wrap=True)
    for name in others:
        grid.add_column(name, width=8 if name else None, justify="right" if name else "left", no_wrap=True)
    return grid


def _cell(summary: Mapping[str, Any], rank: int, glyphs: Glyphs) -> Text:
    value = summary.get(f"p{rank}")
    if value is None:
        return Text(glyphs.dash if f"p{rank}" in summary else "", "dim")
    return Text(figure(value, rank, summary["n"]), "" if supports(summary["n"], rank) else "dim")


def _most(summary: Mapping[str, Any], glyphs: Glyphs) -> Text:
    if "max" not in summary:
        return Text()
    return Text(glyphs.dash if summary["max"] is None else f"{summary['max']:.0f}")


def _count(count: int, alarm: str, glyphs: Glyphs) -> Text:
    """A count of turns; a dot for none, so that the eye stops where there are some."""
    return Text(str(count), alarm) if count else Text(glyphs.dot, "dim")


def _allowed(run: Mapping[str, Any], stage: str, glyphs: Glyphs) -> str:
    allowed = run["allowances_ms"].get(stage)
    return glyphs.dash if allowed is None else f"{allowed:.0f}"


def _spread(summary: Mapping[str, Any], scale: float, width: int, glyphs: Glyphs) -> Text:
    """The median as a bar, and up to the 95th percentile as its shadow."""
    if not summary["p95"]:
        return Text()
    median = [(0.0, summary["p50"])] if summary["p50"] else []
    solid = bar(median, scale=scale, width=width, glyphs=glyphs).rstrip()
    tail = bar([(0.0, summary["p95"])], scale=scale, width=width, glyphs=glyphs).rstrip()
    return Text(f"  {solid}", "cyan").append(glyphs.shade * (len(tail) - len(solid)), "dim")
