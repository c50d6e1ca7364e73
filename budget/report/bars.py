"""Bars on a time axis, in characters.

A cell of the terminal is two halves wide, and a half is filled where a piece covers its middle. So pieces that
tile the time tile the halves too, and no bar overlaps the next. A piece too short for any middle still leaves a
sliver: that it happened must be seen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

Piece: TypeAlias = tuple[float, float]
"""Start and end, on the axis of the chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """What bars and signs are drawn with."""

    full: str
    left: str
    right: str
    sliver: str
    shade: str
    limit: str
    rule: str
    tick: str
    cross: str
    over: str
    blamed: str
    minus: str
    dash: str
    dot: str
    ellipsis: str


UNICODE: Final = Glyphs(
    full="█",
    left="▌",
    right="▐",
    sliver="▏",
    shade="░",
    limit="┊",
    rule="─",
    tick="┬",
    cross="┼",
    over="▲",
    blamed="◀",
    minus="−",
    dash="–",
    dot="·",
    ellipsis="…",
)
ASCII: Final = Glyphs(
    full="#",
    left="#",
    right="#",
    sliver="|",
    shade=".",
    limit=":",
    rule="-",
    tick="+",
    cross="+",
    over="^",
    blamed="<",
    minus="-",
    dash="-",
    dot="-",
    ellipsis=".",
)
"""For terminals whose encoding lacks the signs above."""


def thin(glyphs: Glyphs) -> Glyphs:
    """The same set with a thinner bar, for totals beneath the bars that they add up."""
    if glyphs is ASCII:
        return replace(glyphs, full="=", left="=", right="=")
    return replace(glyphs, full="━", left="╸", right="╺", sliver="╸")


def bar(pieces: Iterable[Piece], *, scale: float, width: int, glyphs: Glyphs) -> str:
    """Draw ``pieces`` on an axis from 0 to ``scale`` in ``width`` cells; what lies outside is cut off."""
    halves = [False] * (2 * width)
    slivers: list[int] = []
    for start, end in pieces:
        covered = [half for half in range(2 * width) if start <= _middle(half, scale, width) < end]
        for half in covered:
            halves[half] = True
        if not covered and 0 <= start <= scale:
            slivers.append(min(width - 1, int(start / scale * width)))
    cells = [_cell(halves[2 * cell], halves[2 * cell + 1], glyphs) for cell in range(width)]
    for cell in slivers:
        if cells[cell] == " ":
            cells[cell] = glyphs.sliver
    return "".join(cells)


def shaded(pieces: Iterable[Piece], *, scale: float, width: int, glyphs: Glyphs) -> str:
    """The same in a light shade and whole cells, for work that nobody waited for."""
    drawn = bar(pieces, scale=scale, width=width, glyphs=glyphs)
    return "".join(" " if cell == " " else glyphs.shade for cell in drawn)


def step(scale: float, width: int) -> float:
    """A round distance between ticks that leaves each label its room."""
    for decade in (1, 10, 100, 1_000, 10_000, 100_000):
        for factor in (1, 2, 5):
            if factor * decade / scale * width >= 9:
                return float(factor * decade)
    return scale


def axis(scale: float, width: int, glyphs: Glyphs) -> tuple[str, str]:
    """Labels in ms, and the rule beneath them with a tick under the first digit of each label."""
    labels, rule = [" "] * width, [glyphs.rule] * width
    distance = step(scale, width)
    for index in range(int(scale / distance) + 1):
        cell = cell_of(index * distance, scale, width)
        rule[cell] = glyphs.tick
        label = f"{index * distance:g}"
        if cell + len(label) <= width:
            labels[cell : cell + len(label)] = label
    return "".join(labels), "".join(rule)


def cell_of(instant: float, scale: float, width: int) -> int:
    """The cell of an instant on the axis; the end of the axis is in the last one."""
    return min(width - 1, max(0, int(instant / scale * width)))


def apportion(values: Sequence[float]) -> list[int]:
    """Round so that the whole numbers add up to the rounded sum: what is shown must add up when read."""
    floors = [int(value // 1) for value in values]
    missing = round(sum(values)) - sum(floors)
    by_remainder = sorted(range(len(values)), key=lambda index: values[index] - floors[index], reverse=True)
    for index in by_remainder[:missing]:
        floors[index] += 1
    return floors


def _middle(half: int, scale: float, width: int) -> float:
    return (half + 0.5) * scale / (2 * width)


def _cell(left: bool, right: bool, glyphs: Glyphs) -> str:
    if left and right:
        return glyphs.full
    return glyphs.left if left else glyphs.right if right else " "
