"""Which phonemes of a spoken text belong to which of its words. Pure.

A phonemizer gives no such link: it joins words ("of the" becomes one group), says one word in several groups ("25"),
leaves marks out and ends sentences where it likes. So each word is phonemized alone as well, and the words, one after
the other, are laid beside what is spoken with the fewest changes (edit distance over sounds and the gaps between
groups). A word that sounds otherwise alone ("a", "the") then still finds its place between its neighbours.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_WORD: Final = re.compile(r"\S+")

GAP: Final = " "
_STRESS: Final = frozenset("ˈˌ")
"""Left out of the comparison: a word alone is always stressed."""

_CHANGE: Final = 1.0
"""Of one sound: put in, left out, or another one in its place."""
_JOIN: Final = 0.4
"""Of a gap put in or left out: words are joined more readily than their sounds are lost."""
_NEVER: Final = 1e3
"""A gap is never taken for a sound."""


@dataclass(frozen=True, slots=True)
class _Symbol:
    """A sound or a gap; ``at`` is where it was in its sequence, or the number of its word."""

    sound: str
    at: int


def words_of(text: str) -> list[re.Match[str]]:
    """The words of ``text``: what stands between white space, marks included."""
    return list(_WORD.finditer(text))


def last_phonemes(alone: Sequence[Sequence[str]], spoken: Sequence[str]) -> list[int | None]:
    """For each word, the number of phonemes of ``spoken`` up to its own last one; they never decrease.

    ``alone`` holds the phonemes of each word said alone. A word that has no sound, or whose sounds are nowhere in
    ``spoken``, gets None.
    """
    said = list(_symbols(enumerate(spoken)))
    wanted = list(_symbols((word, phoneme) for word, phonemes in enumerate(alone) for phoneme in (*phonemes, GAP)))
    firsts: dict[int, int] = {}
    lasts: dict[int, int] = {}
    for ours, theirs in _pairs(said, wanted):
        if said[ours].sound != GAP:
            firsts.setdefault(wanted[theirs].at, said[ours].at)
            lasts[wanted[theirs].at] = said[ours].at
    ends: list[int | None] = [None] * len(alone)
    until = len(spoken)
    for word in sorted(lasts, reverse=True):
        ends[word] = _end(spoken, lasts[word] + 1, until)
        until = firsts[word]
    return ends


def _end(spoken: Sequence[str], start: int, until: int) -> int:
    """Where a word ends that has its last known sound before ``start``, and its neighbour's first at ``until``.

    What is left between them goes to the word before it as far as there is a gap, as when it is said in more words
    than alone; without a gap, only what belongs to its last sound.
    """
    gaps = [at for at in range(start, until) if not _is_sound(spoken[at]) and spoken[at] not in _STRESS]
    sounds = [at for at in range(start, until) if _is_sound(spoken[at])]
    before_gap = [at for at in sounds if gaps and at < gaps[-1]] if until < len(spoken) else sounds
    end = before_gap[-1] + 1 if before_gap else start
    while end < until and _lengthens(spoken[end]):
        end += 1
    return end


def _symbols(phonemes: Iterable[tuple[int, str]]) -> Iterator[_Symbol]:
    """Sounds, with one gap where anything else stood between them; none at the beginning."""
    begun, gap = False, False
    for at, phoneme in phonemes:
        if _is_sound(phoneme):
            if gap and begun:
                yield _Symbol(GAP, at)
            yield _Symbol(phoneme, at)
            begun, gap = True, False
        elif phoneme not in _STRESS and not _lengthens(phoneme):
            gap = True


def _is_sound(phoneme: str) -> bool:
    return phoneme[:1].isalnum() and phoneme not in _STRESS and not _lengthens(phoneme)


def _lengthens(phoneme: str) -> bool:
    """Whether it only says something of the sound before it: a length mark, a small letter, a combining accent."""
    return phoneme not in _STRESS and unicodedata.category(phoneme[:1] or GAP) in ("Lm", "Mn")


def _pairs(said: Sequence[_Symbol], wanted: Sequence[_Symbol]) -> list[tuple[int, int]]:
    """Indices of the symbols that stand beside each other in the cheapest alignment, in order."""
    if not said or not wanted:
        return []
    ours, our_cost = _coded(said)
    theirs, their_cost = _coded(wanted)
    with_gap = (ours == GAP)[:, None] | (theirs == GAP)
    instead = np.where(ours[:, None] == theirs, 0.0, np.where(with_gap, _NEVER, _CHANGE))
    table = _table(instead, our_cost, their_cost)
    pairs = []
    row, column = len(said), len(wanted)
    while row and column:
        here = table[row, column]
        if np.isclose(here, table[row - 1, column - 1] + instead[row - 1, column - 1]):
            row, column = row - 1, column - 1
            pairs.append((row, column))
        elif np.isclose(here, table[row - 1, column] + our_cost[row - 1]):
            row -= 1
        else:
            column -= 1
    return pairs[::-1]


def _table(instead: NDArray[np.float64], ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least cost of every pair of beginnings. A row at a time: the sums along it are a running minimum."""
    along = np.concatenate([[0.0], np.cumsum(theirs)])
    table = np.empty((len(ours) + 1, len(theirs) + 1))
    table[0] = along
    for row in range(len(ours)):
        best = table[row] + ours[row]
        best[1:] = np.minimum(best[1:], table[row, :-1] + instead[row])
        table[row + 1] = np.minimum.accumulate(best - along) + along
    return table


def _coded(symbols: Sequence[_Symbol]) -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """The symbols as an array, and what it costs to leave each out."""
    sounds = np.array([symbol.sound for symbol in symbols])
    return sounds, np.where(sounds == GAP, _JOIN, _CHANGE)
