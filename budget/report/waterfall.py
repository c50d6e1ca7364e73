"""The waterfall of one turn: where the gap went, in the order in which it went.

Bars stand in time, from the speech end to the first audible sample sent. A solid bar is time that the turn waited for
that stage; a shaded one is work beside the path, which nobody waited for. The numbers of the column add up.
"""

import io
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from turngap.budget.account import Standing
from turngap.budget.marks import Stage
from turngap.budget.report.bars import ASCII, UNICODE, Glyphs, apportion, axis, bar, cell_of, shaded, thin
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.table import table
from turngap.budget.verdict import short

__all__ = ["Waterfall", "plain", "table"]

NAME, FIGURES = 15, 22
WIDEST, NARROWEST = 120, 60


class Waterfall:
    """A turn that rich can print: ``console.print(Waterfall(record))``."""

    def __init__(self, record: TurnRecord) -> None:
        self.record = record

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(NARROWEST, min(WIDEST, options.max_width))
        yield from _Drawing(self.record, width, ASCII if options.ascii_only else UNICODE).lines()


def plain(renderable: RenderableType, *, width: int = 80) -> str:
    """What a waterfall or a table looks like without colour, for logs and files."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False).print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


class _Drawing:
    """One waterfall at one width."""

    def __init__(self, record: TurnRecord, width: int, glyphs: Glyphs) -> None:
        self.record, self.width, self.glyphs = record, width, glyphs
        self.chart = width - NAME - FIGURES
        self.budget = sum(record.allowances_ms.values())
        longest = max(record.reported_gap_ms or 0.0, record.heard_gap_ms or 0.0, self.budget, 1.0)
        # A little air, so that the line of the budget is never the edge of the picture.
        self.scale = longest * 1.04
        stages = list(Stage)
        charged = [record.charges_ms.get(stage.value) or 0.0 for stage in stages[:-1]] + [record.residual_ms or 0.0]
        self.took = dict(zip(stages, apportion(charged), strict=True))
        allowed = [record.allowances_ms.get(stage.value, 0.0) for stage in stages]
        self.allowed = dict(zip(stages, apportion(allowed), strict=True))

    def lines(self) -> Iterator[Text]:
        yield from self._words()
        if self.record.reported_gap_ms is None:
            yield Text(f"  {self._silence()}", style="yellow")
        else:
            labels, rule = axis(self.scale, self.chart, self.glyphs)
            yield self._row(Text("ms", "dim"), Text(labels, "dim"), Text(f"{'took':>6}{'of':>6}", "dim"))
            yield self._row(Text(), self._ruled(rule), Text())
            for stage in Stage:
                yield self._stage(stage)
            yield self._row(Text(), self._ruled(self.glyphs.rule * self.chart), Text())
            yield self._total()
        if (heard := self._heard()) is not None:
            yield heard
        yield from self._verdict()

    def _silence(self) -> str:
        if self.record.cut_in:
            return "no gap was reported of this turn"
        if self.record.answered:
            return "the server reported nothing of this turn"
        return f"no reply left for this turn ({(self.record.outcome or 'outcome unknown').replace('_', ' ')})"

    def _words(self) -> Iterator[Text]:
        title = Text(f"{self.record.name}", "bold", no_wrap=True)
        title.append(f" {self.glyphs.dot} turn {self.record.turn}", "dim")
        yield self._fitted(title)
        quotes = '""' if self.glyphs is ASCII else "“”"
        for who, words in (("user", self.record.transcript), ("agent", self.record.reply)):
            if words:
                line = Text(f"  {who:<{NAME - 2}}", "dim", no_wrap=True)
                yield self._fitted(line.append(f"{quotes[0]}{printable(words)}{quotes[1]}", "not dim"))
        yield Text()

    def _fitted(self, line: Text) -> Text:
        if line.cell_len > self.width:
            line.truncate(self.width - 1)
            line.append(self.glyphs.ellipsis)
        return line

    def _row(self, name: Text, chart: Text, figures: Text) -> Text:
        row = Text("  ", no_wrap=True, end="\n").append_text(name)
        row.pad_right(max(0, NAME - row.cell_len))
        return row.append_text(chart).append_text(figures)

    def _stage(self, stage: Stage) -> Text:
        standing = self._standing(stage)
        culprit = self.record.culprit == stage
        over = self.took[stage] - self.allowed[stage]
        style = "bold red" if culprit else "yellow" if over > 0 else "green"
        if standing is Standing.ON_PATH:
            pieces = [(start, end) for name, start, end in self.record.tiles if name == stage]
            drawn = Text(bar(pieces, scale=self.scale, width=self.chart, glyphs=self.glyphs), style)
            name = Text(stage.value, style if culprit else "")
            return self._row(name, self._limited(drawn), self._figures(stage, over, style, culprit=culprit))
        pieces = [(max(0.0, start), end) for name, start, end in self.record.work if name == stage and end > 0]
        drawn = Text(shaded(pieces, scale=self.scale, width=self.chart, glyphs=self.glyphs), "dim")
        return self._row(Text(stage.value, "dim"), self._limited(drawn), Text(f"  {standing.value}", "dim"))

    def _standing(self, stage: Stage) -> Standing:
        if stage is Stage.RESIDUAL:
            return Standing.ON_PATH
        if stage.value not in self.record.charges_ms:
            return Standing.UNKNOWN
        return Standing.BESIDE if self.record.charges_ms[stage.value] is None else Standing.ON_PATH

    def _figures(self, stage: Stage, over: int, style: str, *, culprit: bool) -> Text:
        exact = self.record.residual_ms if stage is Stage.RESIDUAL else self.record.charges_ms[stage.value]
        took = "<1" if exact and not self.took[stage] else str(self.took[stage])
        figures = Text().append(f"{took:>6}", style if over > 0 else "")
        figures.append(f"{self.allowed[stage]:>6}", "dim")
        figures.append_text(self._difference(over, style if over > 0 else "dim"))
        return figures.append(f" {self.glyphs.blamed}" if culprit else "", style)

    def _difference(self, over: int, style: str) -> Text:
        if over > 0:
            return Text(f"  {self.glyphs.over}{f'+{over}':>5}", style)
        return Text(f"  {'':<1}{f'{self.glyphs.minus}{-over}' if over else '0':>5}", style)

    def _total(self) -> Text:
        gap, budget = sum(self.took.values()), sum(self.allowed.values())
        style = "bold red" if gap > budget else "bold green"
        drawn = self._line(self.record.reported_gap_ms or 0.0)
        figures = Text().append(f"{gap:>6}", style).append(f"{budget:>6}", "dim")
        figures.append_text(self._difference(gap - budget, style))
        return self._row(Text("reported gap", "bold"), self._limited(Text(drawn, style)), figures)

    def _heard(self) -> Text | None:
        heard, reported = self.record.heard_gap_ms, self.record.reported_gap_ms
        if heard is None or self.record.cut_in:
            return None
        style = "bold red" if heard > self.budget else "bold green"
        drawn = self._line(heard)
        figures = Text().append(f"{heard:>6.0f}", style)
        if reported is not None:
            figures.append(f"{sum(self.allowed.values()):>6}", "dim")
            figures.append_text(self._difference(round(heard) - sum(self.allowed.values()), style))
        return self._row(Text("heard gap", "bold"), self._limited(Text(drawn, style)), figures)

    def _line(self, length: float) -> str:
        return bar([(0.0, length)], scale=self.scale, width=self.chart, glyphs=thin(self.glyphs))

    def _ruled(self, rule: str) -> Text:
        """A rule that the line of the budget crosses."""
        cell = cell_of(self.budget, self.scale, self.chart)
        return Text(rule[:cell] + self.glyphs.cross + rule[cell + 1 :] if self.budget else rule, "dim")

    def _limited(self, drawn: Text) -> Text:
        """Mark the budget on a bar, where the bar leaves the cell free."""
        cell = cell_of(self.budget, self.scale, self.chart)
        if not self.budget or drawn.plain[cell] != " ":
            return drawn
        line = Text(self.glyphs.limit, "dim")
        return Text().append_text(drawn[:cell]).append_text(line).append_text(drawn[cell + 1 :])

    def _verdict(self) -> Iterator[Text]:
        record = self.record
        yield Text()
        if record.cut_in:
            early = "" if record.heard_gap_ms is None else f" {short(-record.heard_gap_ms)} ms"
            yield Text(f"  cut in: the agent was heard{early} before the user had finished", "bold red")
        if record.reported_gap_ms is not None:
            style = "bold green" if record.culprit is None else "bold red"
            yield Text(f"  {record.sentence()}", style)
        if record.first_content_gap_ms is not None and record.first_content_gap_ms != record.heard_gap_ms:
            yield Text(f"  first content after {short(record.first_content_gap_ms)} ms", "yellow")
        if record.work and None in record.charges_ms.values():
            yield Text(f"  {self.glyphs.shade} at work while nobody waited", "dim")
        if aside := self._asides():
            yield self._fitted(Text(f"  {f' {self.glyphs.dot} '.join(aside)}", "dim", no_wrap=True))

    def _asides(self) -> list[str]:
        record = self.record
        found = []
        if record.heard_gap_ms is None and not record.cut_in:
            found.append("heard gap unknown")
        if record.disagreement_ms is not None:
            found.append(f"heard and reported {short(record.disagreement_ms)} ms apart")
        if record.speech_end_error_ms is not None:
            side = "late" if record.speech_end_error_ms >= 0 else "early"
            found.append(f"speech end {short(abs(record.speech_end_error_ms))} ms {side}")
        return found


def printable(words: str) -> str:
    """Words on one line, without what could command a terminal: they come from models."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())
