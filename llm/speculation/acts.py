"""What kind of contribution words are: whether they ask for something, ask something, tell or answer. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Act(StrEnum):
    REQUEST = "request"
    """Something is to be done: "I'd like a tea", "turn it off", "could you"."""
    QUESTION = "question"
    ANSWER = "answer"
    """A word or two that say yes or no."""
    STATEMENT = "statement"
    PARTING = "parting"
    """Thanks and goodbyes: nothing needs to be thought over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """The words of a language by which these are told apart, in lower case."""

    fillers: frozenset[str]
    partings: frozenset[str]
    answers: frozenset[str]
    wishes: tuple[tuple[str, ...], ...]
    """Beginnings by which people say what they want."""
    verbs: frozenset[str]
    """First words of commands."""
    asking: frozenset[str]
    """First words of questions."""

    def of(self, text: str) -> Act | None:
        """The kind of ``text``, perhaps unfinished; None where there are no words."""
        said = [word.replace("’", "'") for word in WORD.findall(text.casefold())]
        while said and said[0] in self.fillers:
            said = said[1:]
        if not said:
            return None
        if said[0] in self.partings:
            return Act.PARTING
        answers = said[0] in self.answers
        rest = said[1:] if answers and len(said) > 1 else said
        if rest[0] in self.verbs or any(tuple(rest[: len(wish)]) == wish for wish in self.wishes):
            return Act.REQUEST
        if answers and len(said) <= ANSWER_WORDS:
            return Act.ANSWER
        return Act.QUESTION if rest[0] in self.asking or text.rstrip().endswith("?") else Act.STATEMENT


ANSWER_WORDS: Final = 3
