"""Stable words: what two passes agree on is kept, until a final pass says otherwise.

A pass over audio that is still growing is wrong mostly at its end, where a word may be cut in half. So a word counts
as heard once two passes in a row say the same up to there (local agreement, after Macháček et al. 2023), compared
without case and punctuation, which a recogniser revises all the time. The wording kept is that of the later pass.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

HOLD_BACK_WORDS: Final = 1
"""The last word of an interim pass may be half a word, and its full stop is only the end of the audio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What the user is thought to have said in this turn so far.

    From one interim pass to the next ``stable`` only grows. ``final`` says that this is the text up to the pause that
    was asked for, ``unstable`` words included; it comes from a pass that listened afresh, so it may overrule even
    stable words. Should the user go on, only ``stable`` is kept.
    """

    stable: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    final: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return self.stable + self.unstable

    @property
    def text(self) -> str:
        return " ".join(self.words)


def plain(word: str) -> str:
    """The word without case and outer punctuation: equal for two wordings of the same word, "" for a mere sign."""
    word = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    return "".join(letter for letter in word if letter.isalnum() or letter == "'").strip("'")


def agreement(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words from the start two passes have in common."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if plain(left) != plain(right):
            break
        count += 1
    return count


class StableWords:
    """The agreement of successive passes over one growing stretch of audio."""

    def __init__(self, hold_back: int = HOLD_BACK_WORDS) -> None:
        self.stable: tuple[str, ...] = ()
        self.unstable: tuple[str, ...] = ()
        self._previous: tuple[str, ...] = ()
        self._hold_back = hold_back

    def take(self, words: Sequence[str]) -> None:
        """Add a pass over all of the audio so far. An empty one says nothing about the words of before.

        A pass that does not begin with the stable words can't change them; of it
        only the words past their number are used.
        """
        words = tuple(words)
        if not words:
            self.unstable = ()
            return
        agreed = min(agreement(self._previous, words), len(words) - self._hold_back)
        if agreed > len(self.stable):
            self.stable += words[len(self.stable) : agreed]
        self.unstable = words[len(self.stable) :]
        self._previous = words

    def settle(self, words: Sequence[str]) -> None:
        """Add a pass that listened afresh to a whole utterance: its words stand, and stable words that differ fall."""
        words = tuple(words)
        self.stable = words[: agreement(self.stable, words)]
        self.unstable = words[len(self.stable) :]
        self._previous = words
