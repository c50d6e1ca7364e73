"""What the words so far say about whether their speaker is done. Pure.

A recogniser's words carry more than words: it ends what sounds like a sentence with a full stop, and what trails off
with a comma or three dots. The lists that a language needs stand in a :class:`Lexicon`, so that another language is
another lexicon; without one only the marks count.
"""

import re
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_DIGITS: Final = re.compile(r"(?:\d[\s,.-]*)+$")
_DICTATED: Final = 3
"""So many figures in a row, at least, are a number that is being dictated; fewer are a time or a count."""


class Standing(StrEnum):
    """How a text stands, by its end. The value names the wait in the ledger."""

    NOTHING = "no words"
    CUT = "unfinished phrase"
    """It ends in a word that asks for another: "I would like a"."""
    FILLER = "filler"
    TRAILING = "trailing off"
    NUMBER = "number"
    """Figures are being dictated, and more may come."""
    PHRASE = "phrase"
    SENTENCE = "sentence"
    QUESTION = "question"
    CLOSING = "closing words"
    """What ends a turn by custom: "please", "thank you"."""
    ANSWER = "answer"
    """What the agent's last question asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """What a language ends and begins its phrases with; words in lower case."""

    never_last: frozenset[str] = frozenset()
    """Nothing ends with these, even if it sounds like it."""
    open_ends: frozenset[str] = frozenset()
    """Hardly any phrase ends with these, unless it sounds like it: "as it was." """
    open_phrases: tuple[tuple[str, ...], ...] = ()
    """Nor with these words in a row."""
    fillers: frozenset[str] = frozenset()
    closings: tuple[tuple[str, ...], ...] = ()
    asks_yes_or_no: frozenset[str] = frozenset()
    """A question that begins with these is answered by one word,"""
    alternatives: frozenset[str] = frozenset()
    """but not if it has one of these in it."""
    answers: frozenset[str] = frozenset()
    """The words that answer it."""
    asks_for_figures: frozenset[str] = frozenset()
    """A question with these in it is answered by a number that is dictated in groups."""
    figures: frozenset[str] = frozenset()
    """Figures that a recogniser wrote out."""
    backchannels: frozenset[str] = frozenset()
    """What people say along while they listen, without wanting the floor."""
    claims: frozenset[str] = frozenset()
    """What they say who want it, be it ever so short."""


def standing(text: str, lexicon: Lexicon, *, asked: str = "") -> Standing:
    """How ``text`` stands as an answer to ``asked``, the last that the agent said."""
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    if not words:
        return Standing.NOTHING
    stripped = text.rstrip()
    if words[-1] in lexicon.fillers:
        return Standing.FILLER
    sounds_ended = stripped.endswith((".", "!", "?")) and not stripped.endswith("...")
    open_ended = words[-1] in lexicon.open_ends or _ends_with(words, lexicon.open_phrases)
    if words[-1] in lexicon.never_last or (open_ended and not sounds_ended):
        return Standing.CUT
    if stripped.endswith(("...", "…", "-", "–", "—", ",", ":", ";")):
        return Standing.TRAILING
    if (figures := _figures(stripped, words, lexicon)) and (figures >= _DICTATED or _wants_figures(asked, lexicon)):
        return Standing.NUMBER
    if _wants_yes_or_no(asked, lexicon) and words[0] in lexicon.answers and len(words) <= _SHORT:
        return Standing.ANSWER
    if stripped.endswith("?"):
        return Standing.QUESTION
    if _ends_with(words, lexicon.closings):
        return Standing.CLOSING
    return Standing.SENTENCE if sounds_ended else Standing.PHRASE


class Claim(Enum):
    """Whether who says something while another speaks wants the floor."""

    NONE = auto()
    """They say it along, as people do who listen: "yeah", "mhm"."""
    DOUBTFUL = auto()
    """One word that nobody says along. A recogniser hears such a word in many an "mm" as well, so how long the voice
    lasts has to tell."""
    SURE = auto()


def claim(text: str, lexicon: Lexicon) -> Claim:
    """How ``text``, said over another's words, claims the floor."""
    said = {word.casefold().replace("’", "'") for word in _WORD.findall(text)}
    words = said - lexicon.backchannels - lexicon.fillers
    if not words:
        return Claim.NONE
    return Claim.SURE if len(words) > 1 or words & lexicon.claims else Claim.DOUBTFUL


_SHORT: Final = 4


def _ends_with(words: list[str], phrases: tuple[tuple[str, ...], ...]) -> bool:
    return any(tuple(words[-len(phrase) :]) == phrase for phrase in phrases)


def _figures(text: str, words: list[str], lexicon: Lexicon) -> int:
    """How many figures the text ends with."""
    found = _DIGITS.search(text.rstrip("."))
    if found:
        return sum(letter.isdigit() for letter in found.group())
    count = 0
    for word in reversed(words):
        if word not in lexicon.figures:
            break
        count += 1
    return count


def _last_question(asked: str) -> list[str]:
    """The words of the question that ``asked`` ends with; none if it ends with something else."""
    if not asked.rstrip().endswith("?"):
        return []
    last = re.split(r"[.!?]+\s", asked.rstrip())[-1]
    return [word.casefold().replace("’", "'") for word in _WORD.findall(last)]


def _wants_yes_or_no(asked: str, lexicon: Lexicon) -> bool:
    question = _last_question(asked)
    return bool(question) and question[0] in lexicon.asks_yes_or_no and not lexicon.alternatives & set(question)


def _wants_figures(asked: str, lexicon: Lexicon) -> bool:
    return not lexicon.asks_for_figures.isdisjoint(word.casefold() for word in _WORD.findall(asked))
