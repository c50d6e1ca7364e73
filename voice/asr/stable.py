"""Stable words: what stays the same for a while is told to the client as such, and never taken back.

A pass over audio that is still growing is wrong mostly at its end: a word may be cut in half, what follows it is not
known yet, and the encoder listens again to the last two seconds of the pass before. So a word becomes stable once
every pass has said the same up to there while 2.5 more seconds of audio arrived, or 0.6 where the recogniser is sure
of it. Figures wait for a word without any behind them. Words are compared without case and punctuation, which a
recogniser revises all the time, and kept in the wording of the latest pass.

From then on the word stands, also where a later pass knows better, be it the final one. Later passes are free all the
same: their words are laid beside the stable ones so that the fewest differ, and those that follow are what is new.

On 42 read sentences, streamed twice with a pass every 0.4 s: word errors, words that are stable when the pause is
noticed (of those heard by then, mean over the sentences), and seconds from the end of a word until it is stable (p50
of those that are by the end; shown it is after 0.4)::

    two passes in a row, overruled by the final one      9.4 %    81 %    0.9    taken back 79 times
    two passes in a row (Macháček et al. 2023)          14.4      84      0.8
    1 s                                                 11.2      63      1.7
    2 s                                                 10.1      44      2.6
    2.5 s                                                9.8      30      3.2
    3 s                                                  9.5      24      3.7
    2.5 s, or 0.6 s where the word's likelihood is 0.5  10.3      57      1.3
    2.5 s, or 0.6 s where it is 0.7                      9.7      46      2.3
    2.5 s, or 0.6 s where it is 0.9                      9.7      36      3.0
    2 s, or 0.6 s where it is 0.7                       10.1      58      2.0

Played once with the stable words of the 2 s forced on every pass, which went on from them: 11.3 % instead of 10.0.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from turngap.voice.asr.protocol import ASR_RATE_HZ

UNCHANGED: Final = round(2.5 * ASR_RATE_HZ)
"""Samples of audio that a word must stay the same for, a little more than the encoder still revises ..."""
UNCHANGED_SURE: Final = round(0.6 * ASR_RATE_HZ)
"""... and where the recogniser is sure of it."""
SURE: Final = 0.7
"""How likely a word must be for that."""


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


def is_figure(word: str) -> bool:
    """Whether the word is written in figures, all or some."""
    return any(letter.isdigit() for letter in word)


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


def unchanged(likely: float) -> int:
    """How long a word that is so likely must stay the same."""
    return UNCHANGED_SURE if likely >= SURE else UNCHANGED


class StableWords:
    """The words of one growing stretch of audio, pass after pass. Positions are samples."""

    def __init__(self) -> None:
        self.stable: tuple[str, ...] = ()
        self.unstable: tuple[str, ...] = ()
        self._since: tuple[int, ...] = ()  # for each unstable word, how much audio the first pass knew that said so

    def take(self, words: Sequence[str], *, end: int, sure: Sequence[float] = ()) -> None:
        """Add a pass over all of the audio up to ``end``, which is so sure of each word, or doubts all."""
        known = covered(self.stable, words)
        fresh, likely = tuple(words)[known:], (sure or (0.0,) * len(words))[known:]
        same = agreement(self.unstable, fresh)
        since = self._since[:same] + (end,) * (len(fresh) - same)
        settled = 0
        while settled < len(fresh) and end - since[settled] >= unchanged(likely[settled]):
            settled += 1
        while settled and is_figure(fresh[settled - 1]):  # more may be dictated: 902 becomes 90210, after a pause too
            settled -= 1
        self.stable += fresh[:settled]
        self.unstable, self._since = fresh[settled:], since[settled:]
