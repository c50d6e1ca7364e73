"""A published number, and why it may be believed: nothing of a tier is a bare number. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Grade(StrEnum):
    """How far a figure can be trusted, the best first."""

    VENDOR = "vendor"
    """The vendor's own page or press release: true of the vendor's best day."""
    MEASURED = "measured"
    """A benchmark by somebody else, named in the source."""
    THIRD_PARTY = "third party"
    """Quoted by somebody else, at second hand."""
    DERIVED = "derived"
    """Worked out by us from other figures; the note says how."""
    ASSUMED = "assumed"
    """Nobody published it. A simulation has to use something, and the note says what and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number in the unit that its place in a :class:`Tier` names, with its origin."""

    value: float
    source: str
    date: str
    """Of the figure where it is known, else of the copy it was read in."""
    grade: Grade
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Every field; notes only where there are any."""
        found = {"value": self.value, "source": self.source, "date": self.date, "grade": self.grade.value}
        return {**found, "note": self.note} if self.note else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """One way to buy tokens. A figure that nobody published is None."""

    name: str
    """What ``sim:NAME`` and the tables call it."""
    title: str
    ttft_ms: Figure | None
    """Request to first answer text, the median."""
    ttft_p95_ms: Figure | None = None
    rate: Figure | None
    """Output tokens per second after the first, for one reply."""
    price_in: Figure | None = None
    """US dollars for a million tokens of prompt."""
    price_out: Figure | None = None
    """US dollars for a million tokens of answer, reasoning included."""
    specs: tuple[str, ...] = ()
    """The backends that are this tier, as ``--llm`` names them."""

    def to_json(self) -> dict[str, Any]:
        """Name, title, and every figure with its origin; None for what is unknown."""
        figures = ("ttft_ms", "ttft_p95_ms", "rate", "price_in", "price_out")
        return {
            "name": self.name,
            "title": self.title,
            **{key: None if (found := getattr(self, key)) is None else found.to_json() for key in figures},
            "specs": list(self.specs),
        }

    @property
    def grades(self) -> str:
        """The grades of the two figures that a simulation rests on, for people: ``ttft vendor, rate derived``."""
        shown = [
            f"{name} {found.grade.value}"
            for name, found in (("ttft", self.ttft_ms), ("rate", self.rate))
            if found is not None
        ]
        return ", ".join(shown)
