"""A comparison for people in a terminal. Pure."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from turngap.budget.gate.compare import Comparison
from turngap.budget.gate.demands import Finding


def show(comparison: Comparison) -> Group:
    """The verdict in a sentence, and how much each stage grew."""
    grid = Table("  stage", "more ms", "95 %", "", box=None, header_style="dim")
    for stage, each in comparison.stages_ms.items():
        sure = each.low > 0 or each.high < 0
        style = "bold red" if each.low > 0 else "bold green" if sure else "dim"
        spread = f"{each.low:+.1f} to {each.high:+.1f}"
        grid.add_row(f"  {stage}", Text(f"{each.value:+.1f}", style), spread, "" if sure else "no difference")
    return Group(Text(f"  {sentence(comparison)}", "bold"), Text(), grid)


def sentence(comparison: Comparison) -> str:
    """The verdict of a comparison: slower, faster, or no difference, and how sure."""
    percent = comparison.percent()
    if percent is None:
        return "too few turns in common to compare"
    value, low, high = percent
    over = f"{comparison.turns} {'clips in both runs' if comparison.paired else 'turns, not paired'}"
    if comparison.slower or comparison.faster:
        word = "slower" if comparison.slower else "faster"
        return f"the typical turn is {abs(value):.1f} % {word} (95 %: {low:+.1f} to {high:+.1f} %; {over})"
    found = comparison.resolution_percent()
    return (
        f"no difference: {value:+.1f} % (95 %: {low:+.1f} to {high:+.1f} %; {over}; "
        f"a slowdown of {found:.0f} % would have been found)"
    )


def findings_table(findings: list[Finding]) -> Table:
    """A line for each demand."""
    grid = Table(box=None, show_header=False)
    for finding in findings:
        mark = Text("ok", "bold green") if finding.met else Text("FAILED", "bold red")
        grid.add_row(mark, finding.demand, finding.says)
        if finding.doubt is not None:
            grid.add_row("", "", Text(finding.doubt, "yellow"))
    return grid
