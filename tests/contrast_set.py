"""The pairs in ``llm/contrast/``: what must never be matched, and what should be."""

from pathlib import Path
from typing import NamedTuple


class Pair(NamedTuple):
    """Two turns of a user, and in which way they differ; ``unseen`` while the word lists were written."""

    said: str
    known: str
    kind: str
    unseen: bool


CONTRASTS = ("different", "same", "blind_different", "blind_same")
"""The names; the blind ones were written without knowledge of the guard, after it and its word lists, and each time the
first figure on them was noted before anything was changed."""


def pairs(name: str) -> list[Pair]:
    """The pairs of ``llm/contrast/NAME.tsv``."""
    lines = (Path(__file__).parent / "llm" / "contrast" / f"{name}.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Pair(said, known, kind, unseen=number % 3 == 0) for number, (said, known, kind) in enumerate(rows, 1)]
