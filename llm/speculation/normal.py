"""The form in which two turns are equal if they say the same, however a recogniser has written them. Pure.

Case and punctuation go altogether. A recogniser's commas come and go between two passes over the same audio, so
nothing may hang on them: "like" and "you know" stay, though they are fillers between commas, since without the commas
they cannot be told from "I like tea". Words of hesitation go, repetitions too.

"Please" goes unless it is all that is said: no answer depends on it, but "Please." itself may be one.
"""

import re
import unicodedata
from typing import Final

from turngap.llm.speculation.language import Language, Words
from turngap.llm.speculation.numerals import figures, is_number

_WORD: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*")
_INITIALS: Final = re.compile(r"\b([^\W\d_])\.([^\W\d_])\b\.?")
"""As in "p.m."."""
_APOSTROPHES: Final = str.maketrans("’‘`´", "''''")
_PASSES: Final = 4


def normal(text: str, language: Language) -> Words:
    """The words that ``text`` says. Two texts say the same if these are equal; taken of itself it does not change."""
    words = _words(text, language)
    # One pass can make room for another: "a um hundred" becomes "a hundred", and that a number.
    for _ in range(_PASSES):
        after = _pass(words, language)
        if after == words:
            break
        words = after
    return words


def _words(text: str, language: Language) -> Words:
    text = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    text = _INITIALS.sub(r"\1\2", text)
    for sign, word in language.currencies.items():
        if sign in text:
            text = re.sub(re.escape(sign) + r"\s*(\d+(?:[.,]\d+)*)", rf" \1 {word} ", text)
    for sign, word in language.symbols.items():
        if sign in text:
            text = text.replace(sign, f" {word} ")
    found: list[str] = []
    end = -1
    for match in _WORD.finditer(text):
        if match.start() == end and is_number(found[-1]) and match[0] in language.numbers.ordinal_endings:
            found[-1] += match[0]
        else:
            found += _full(match[0], language)
        end = match.end()
    return tuple(found)


def _full(word: str, language: Language) -> Words:
    """A contraction's words."""
    if word in language.contractions:
        return language.contractions[word]
    if "'" not in word:
        return (word,)
    for ending, stands_for in language.endings.items():
        if word.endswith(ending) and len(word) > len(ending):
            return (*_full(word.removesuffix(ending), language), *stands_for)
    return tuple(word.split("'"))


def _pass(words: Words, language: Language) -> Words:
    words = tuple(word for word in words if word not in language.fillers)
    words = language.spellings.apply(words)
    words = figures(_once(words, language), language.numbers)
    return tuple(word for word in words if word not in language.courtesies) or words[:1]


def _once(words: Words, language: Language) -> Words:
    """Nobody means more by "no no no" or by a stutter; figures do repeat."""
    return tuple(
        word
        for at, word in enumerate(words)
        if not at or word != words[at - 1] or is_number(word) or word in language.numbers.ones
    )
