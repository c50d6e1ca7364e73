"""Word errors: how a transcript is compared with a reference, and how sure one can be that two systems differ.

English only: scoring folds case, punctuation, a few spellings, and numbers, which recognisers write as digits
("2:30 p.m.") and references as words ("two thirty pm"). Both sides are folded in the same way.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_ONES: Final[list[str]] = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS: Final = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_SPELLINGS: Final = {
    "mr": "mister",
    "mrs": "missus",
    "dr": "doctor",
    "st": "saint",
    "okay": "ok",
    "grey": "gray",
    "colour": "color",
    "honour": "honor",
    "favour": "favor",
    "favourite": "favorite",
    "neighbour": "neighbor",
    "theatre": "theater",
    "centre": "center",
    "towards": "toward",
    "upstairs": "up stairs",
    "anyone": "any one",
    "someone": "some one",
    "everyone": "every one",
    "goodbye": "good bye",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordErrors:
    """What it takes to turn a transcript into its reference, and how long the reference is."""

    substitutions: int
    insertions: int
    deletions: int
    words: int

    @property
    def total(self) -> int:
        return self.substitutions + self.insertions + self.deletions

    @property
    def rate(self) -> float | None:
        """Errors per reference word; None where the reference has no words, since nothing can be said then."""
        return self.total / self.words if self.words else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The word error rate of one system less that of another, with the interval that its clips allow."""

    points: float
    low: float
    high: float


def scoring_words(text: str) -> list[str]:
    """The words of an English text as they are scored."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    text = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"\$(\d+)\b", r"\1 dollars", text).replace("%", " percent").replace("&", " and ")
    text = re.sub(r"\b(\d{1,2}):(\d{2})\b", _clock_time, text)
    text = re.sub(r"(?<=\d)(?=[a-z])(?!st\b|nd\b|rd\b|th\b)", " ", text)
    tokens = re.findall(r"\d+(?:st|nd|rd|th)?|[^\W\d_]+(?:'[^\W\d_]+)*", text)
    return [word for token in tokens for word in _spoken(token).split()]


def word_errors(reference: str, transcript: str) -> WordErrors:
    """The fewest word errors between two English texts, after :func:`scoring_words`."""
    return align(scoring_words(reference), scoring_words(transcript))


def align(reference: Sequence[str], heard: Sequence[str]) -> WordErrors:
    """Levenshtein's distance in words, told apart by kind; of equally short ways, one with most substitutions."""
    # Each cell is (errors, substitutions, insertions, deletions) for a prefix of both sides.
    row = [(count, 0, count, 0) for count in range(len(heard) + 1)]
    for expected in reference:
        above, row = row, [(row[0][0] + 1, 0, 0, row[0][3] + 1)]
        for column, word in enumerate(heard):
            if word == expected:
                row.append(above[column])
                continue
            errors, subs, ins, dels = above[column]
            swap = (errors + 1, subs + 1, ins, dels)
            errors, subs, ins, dels = row[column]
            insert = (errors + 1, subs, ins + 1, dels)
            errors, subs, ins, dels = above[column + 1]
            delete = (errors + 1, subs, ins, dels + 1)
            row.append(min(swap, insert, delete, key=lambda cell: cell[0]))
    _, subs, ins, dels = row[-1]
    return WordErrors(substitutions=subs, insertions=ins, deletions=dels, words=len(reference))


def pooled(errors: Sequence[WordErrors]) -> WordErrors:
    """The errors of many clips as if they were one, so that long clips count for more."""
    return WordErrors(
        substitutions=sum(one.substitutions for one in errors),
        insertions=sum(one.insertions for one in errors),
        deletions=sum(one.deletions for one in errors),
        words=sum(one.words for one in errors),
    )


def paired_difference(
    ours: Sequence[WordErrors], theirs: Sequence[WordErrors], *, rounds: int = 10_000, seed: int = 20_250_101
) -> Difference:
    """WER of ``ours`` less that of ``theirs`` in points, with the 95 % interval of a bootstrap over paired clips.

    Both must be of the same clips in the same order. The seed is fixed, so that the same clips give the same interval.
    """
    words = np.array([one.words for one in ours], dtype=np.float64)
    surplus = np.array([a.total - b.total for a, b in zip(ours, theirs, strict=True)], dtype=np.float64)
    if not words.sum():
        raise ValueError("no reference words to compare on")
    picks: NDArray[np.intp] = np.random.default_rng(seed).integers(len(words), size=(rounds, len(words)))
    drawn = 100 * surplus[picks].sum(axis=1) / np.maximum(words[picks].sum(axis=1), 1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Difference(points=float(100 * surplus.sum() / words.sum()), low=float(low), high=float(high))


def _clock_time(match: re.Match[str]) -> str:
    hour, minute = match.groups()
    return hour if minute == "00" else f"{hour} {minute}"


def _spoken(token: str) -> str:
    if token.isdecimal():
        return _number(token)
    if token[0].isdecimal():
        return _ordinal(token[:-2])
    return _SPELLINGS.get(token, token)


def _number(digits: str) -> str:
    value = int(digits)
    if digits[0] == "0" or value >= 1_000_000:
        return " ".join(_ONES[int(digit)] for digit in digits)  # a code or a telephone number, said digit by digit
    if value >= 1000:
        return _thousands(value)
    if value >= 100:
        rest = f" {_number(str(value % 100))}" if value % 100 else ""
        return f"{_ONES[value // 100]} hundred{rest}"
    if value < len(_ONES):
        return _ONES[value]
    return _TENS[value // 10 - 2] + (f" {_ONES[value % 10]}" if value % 10 else "")


def _thousands(value: int) -> str:
    if 1500 <= value < 2000 and value % 100 >= 10:
        return f"{_number(str(value // 100))} {_number(str(value % 100))}"  # a year
    rest = f" {_number(str(value % 1000))}" if value % 1000 else ""
    return f"{_number(str(value // 1000))} thousand{rest}"


def _ordinal(digits: str) -> str:
    *before, last = _number(digits).split()
    ending = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return " ".join([*before, _ORDINALS.get(last, ending)])
