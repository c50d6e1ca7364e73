"""Replies that are nothing but formulas: a goodbye, or an offer to do more. Pure.

"You're welcome. Have a great day!" and "Thank you, goodbye" have no word in common and do the same. So a reply of
which every sentence is made of such words, and of nothing else, is told by what it does.
"""

import re
from collections.abc import Iterator
from typing import Final

from turngap.llm.speculation.language import Language
from turngap.llm.speculation.normal import normal

PARTS: Final = "parts"
OFFERS: Final = "offers"
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?])\s+")


def formula(text: str, language: Language) -> str:
    """What ``text`` does if it is nothing but formulas; empty if it says more, or nothing that counts."""
    does = [each for sentence in _SENTENCE_ENDS.split(text.strip()) for each in _does(sentence, language)]
    return "" if None in does else " ".join(sorted({each for each in does if each}))


def _does(sentence: str, language: Language) -> Iterator[str | None]:
    """What a sentence does: nothing if it is a mere sound, None if it is no formula."""
    words = frozenset(normal(sentence, language))
    if words <= language.formula_words | language.offers:
        yield OFFERS if words & language.offers else PARTS if words & language.partings else ""
    else:
        yield None
