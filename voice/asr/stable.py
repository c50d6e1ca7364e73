"""Stable words: what is heard the same for two seconds is told to the client, and never taken back.

A pass over audio that is still growing is wrong mostly at its end: a word may be cut in half, what follows it is not
known yet, and the encoder listens again to the last two seconds of the pass before. So a word becomes stable once
every pass has said the same up to there while two more seconds of audio arrived: compared without case and
punctuation, which a recogniser revises all the time, and kept in the wording of the latest pass. (Two passes in a row
that agree, as in Macháček et al. 2023, are too soon where passes follow each other within half a second.)

From then on the word stands, also where a later pass knows better, be it the final one. Later passes are free all the
same: their words are laid beside the stable ones so that the fewest differ, and those that follow are what is new.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from turngap.voice.asr.protocol import ASR_RATE_HZ

UNCHANGED: Final = 2 * ASR_RATE_HZ
"""Samples of audio that a word must stay the same for: as far back as the encoder still revises what it heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What the user is thought to have said in this turn so far.

    ``stable`` begins every later hypothesis of the turn, to the letter. ``final`` says that this is the text up to the
    pause that was asked for, ``unstable`` words included; should the user go on, only ``stable`` is kept.
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


def covered(known: Sequence[str], words: Sequence[str]) -> int:
    """How many of ``words``, from the start, say what is ``known``: so many that the fewest words differ. Among equals
    those that end in the same word, and then those that are most nearly as many."""
    same = agreement(known, words)
    if same == len(known):
        return same
    heard = [plain(word) for word in words[same:]]
    left = [plain(word) for word in known[same:]]
    differing = list(range(len(heard) + 1))  # between what is known so far, none of it yet, and so many words
    for word in left:
        before, differing = differing, [differing[0] + 1]
        for count, other in enumerate(heard, 1):
            differing.append(min(before[count] + 1, differing[-1] + 1, before[count - 1] + (word != other)))

    def merit(count: int) -> tuple[int, bool, int]:
        return differing[count], heard[:count][-1:] != left[-1:], abs(count - len(left))

    return same + min(range(len(heard) + 1), key=merit)


class StableWords:
    """The words of one growing stretch of audio, pass after pass. Positions are samples."""

    def __init__(self, unchanged: int = UNCHANGED) -> None:
        self.stable: tuple[str, ...] = ()
        self.unstable: tuple[str, ...] = ()
        self._since: tuple[int, ...] = ()  # for each unstable word, how much audio the first pass knew that said so
        self._unchanged = unchanged

    def take(self, words: Sequence[str], *, end: int) -> None:
        """Add a pass over all of the audio up to ``end``."""
        fresh = tuple(words)[covered(self.stable, words) :]
        same = agreement(self.unstable, fresh)
        since = self._since[:same] + (end,) * (len(fresh) - same)
        # The first word was said first and cannot be younger than those behind it: ``since`` only grows.
        settled = sum(end - first >= self._unchanged for first in since)
        self.stable += fresh[:settled]
        self.unstable, self._since = fresh[settled:], since[settled:]
