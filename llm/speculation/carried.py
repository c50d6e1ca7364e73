"""What a reply names that it cannot know from the turn it answers. Pure.

A reply is worth keeping only if it would be right again. One that names a number, a date or a person tells what was so
in one dialogue, unless the user has just named it, or the agent before him where the reply is known after these words.
Without capitals, as recognisers write, a name is a word like others; :mod:`learning` sees to those.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from turngap.llm.speculation.language import Language
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.numerals import is_number

_NAMED: Final = re.compile(r"(?<=[\w,;:'’] )[A-Z][^\W_]*")
"""Words with a capital that begin no sentence."""
_WORD: Final = re.compile(r"[^\W_]+")


class Common:
    """The words that these replies write without a capital somewhere, and so are no names."""

    def __init__(self, replies: Iterable[str]) -> None:
        self._words = {word for reply in replies for word in _WORD.findall(reply) if word[0].islower()} | {"i"}

    def names(self, text: str) -> frozenset[str]:
        """The names in ``text``, in lower case."""
        return frozenset(word.casefold() for word in _NAMED.findall(text)) - self._words


def unfounded(reply: str, heard: Sequence[str], common: Common, language: Language) -> frozenset[str]:
    """The numbers, dates and names of ``reply`` that nothing of ``heard``, the turn and what led to it, has."""
    words = {word for text in heard for word in normal(text, language)}
    spelled = {word.casefold() for text in heard for word in _WORD.findall(text)}
    figures = {word for word in normal(reply, language) if is_number(word) or word in language.dates}
    return frozenset((figures - words) | (common.names(reply) - spelled - words))
