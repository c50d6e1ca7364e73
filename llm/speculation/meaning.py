"""What of a turn an answer may depend on. Pure.

A turn's words are taken apart into what may carry a slot and what may not. *Terms* are its words that mean something,
in their basic form and in their order; a term that is denied begins with ``~``. Who speaks of whom, when, and whether
it is a question is kept beside them. Everything that a language does not list as harmless is a term: a name that
nobody has heard of is one, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from turngap.llm.speculation.language import Language, Words
from turngap.llm.speculation.numerals import is_number

ASKED: Final = "?"
"""A term of its own in rewritten phrases: what follows is asked."""
DENIED: Final = "~"
ANSWERED: Final = "!"
"""What a "no" begins with that denies nothing that follows."""
_NEAR: Final = 4
"""A past form and the word that makes it past or present stand at most so far apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What two turns have to have in common to be given the same answer."""

    terms: Words
    asked: bool = False
    """Whether it asks for yes or no."""
    doer: str = ""
    """Who is to do what is asked for, if it is said: "can I call her" is not "can you"."""
    tenses: frozenset[str] = frozenset()
    persons: Words = ()
    pointed: frozenset[str] = frozenset()
    plural: frozenset[str] = frozenset()
    """Terms of which there are definitely many: "my orders";"""
    single: frozenset[str] = frozenset()
    """and one: "my order"."""
    inflected: frozenset[str] = frozenset()
    """Terms with the ending of a plural,"""
    bare: frozenset[str] = frozenset()
    """and those without it and without an article, which may be names: "Adam" is not "Adams"."""
    owned: frozenset[str] = frozenset()
    """Terms that follow right after whose they are: "my work"."""
    articles: int = 0
    plain: Words = ()
    """What is said without greetings and frames, where no term is left."""


def meaning(words: Words, language: Language) -> Meaning:
    """The meaning of a turn in normal form."""
    doer = _doer(words, language)
    words = _core(words, language)
    asked, words = _asked(words, language)
    collected = _Terms(words, language)
    terms = _bundled(tuple(dict.fromkeys(collected.terms)), language)
    return Meaning(
        terms=terms,
        asked=asked,
        doer=doer,
        tenses=frozenset(_tenses(words, language)),
        persons=tuple(language.persons[word] for word in words if word in language.persons),
        pointed=frozenset(language.pointers[word] for word in words if word in language.pointers),
        plural=frozenset(collected.plural),
        single=frozenset(collected.single),
        inflected=frozenset(collected.inflected),
        bare=frozenset(collected.bare),
        owned=frozenset(collected.owned),
        articles=sum(word in language.articles for word in words),
        plain=() if terms else words,
    )


def _core(words: Words, language: Language) -> Words:
    """``words`` without what leads up to them, in the wording that stands for all of one meaning."""
    words = language.asides.apply(words) or words
    words = language.whole.get(words, words)
    before: Words = ()
    while words != before and not language.openings.at(words, 0):
        before, words = words, _unframed(_answered(words, language), language)
        words = language.whole.get(words, words)
    opening = language.openings.at(words, 0)
    words = language.openings.rows.get(opening, ()) + words[len(opening) :]
    return language.phrases.apply(words)


def _answered(words: Words, language: Language) -> Words:
    """Without a "yes" or "no" at the beginning that the rest says again; one that it does not is a term."""
    first, rest = words[:1], words[1:]
    if not rest or first[0] not in language.yes | language.no:
        return words
    if first[0] in language.no and rest[0] not in language.subjects | language.greetings | set(language.negators):
        return words  # "no sugar"
    denied = any(word in language.negators for word in rest)
    return rest if denied == (first[0] in language.no) else (ANSWERED + first[0], *rest)


def _unframed(words: Words, language: Language) -> Words:
    """Without the greeting or the frame that it begins with, as long as something is left."""
    if len(words) > 1 and words[0] in language.greetings:
        return words[1:]
    frame, wrapper = language.frames.at(words[:-1], 0), language.wrappers.at(words[:-1], 0)
    following = words[len(wrapper) : len(wrapper) + 1]
    if wrapper and (following[0] in language.questions or following[0] in language.whether):
        return words[len(wrapper) :]
    return words[len(frame) :]


def _asked(words: Words, language: Language) -> tuple[bool, Words]:
    """Whether a yes or no is asked for, by the order of words, since recognisers put few question marks."""
    if not words:
        return False, words
    if ASKED in words or words[0] in language.whether:
        return True, tuple(word for word in words if word != ASKED and word not in language.whether)
    if words[0] in language.auxiliaries and len(words) > 1 and words[1] not in language.negators:
        return True, words
    led = not language.questions.isdisjoint(words)
    turned = any(one in language.auxiliaries and two in language.subjects for one, two in pairwise(words))
    return turned and not led, words


def _doer(words: Words, language: Language) -> str:
    if language.openings.at(words, 0):
        return ""  # "can I pay by card" is "do you take cards"
    for at, (one, two) in enumerate(pairwise(words), 2):
        if one in language.auxiliaries and language.persons.get(two) in language.own:
            return "" if words[at : at + 1] and words[at] in language.giving else language.persons[two]
    return ""


def _tenses(words: Words, language: Language) -> Iterator[str]:
    for at, word in enumerate(words):
        before = set(words[max(0, at - _NEAR) : at])
        if word in language.future:
            yield "future"
        if word in language.possible and not language.subjects.isdisjoint(words[max(0, at - 1) : at + 2]):
            yield "possible"
        inflected = _is_past(word, language) and (before & language.perfect or not before & language.present)
        if inflected or word in language.past:
            yield "past"


class _Terms:
    """The terms of ``words``, collected from left to right."""

    def __init__(self, words: Words, language: Language) -> None:
        self._language = language
        self._denied = False
        self._swap = False
        self.terms: list[str] = []
        self.plural: list[str] = []
        self.single: list[str] = []
        self.inflected: list[str] = []
        self.bare: list[str] = []
        self.owned: list[str] = []
        for at, word in enumerate(words):
            if not _only_tells_when(words, at, language):
                self._take(word, words[max(0, at - 2) : at], last=at == len(words) - 1)
        if self._denied:
            self.terms.append(DENIED)

    def _take(self, word: str, before: Words, *, last: bool) -> None:
        language = self._language
        if word in language.no and not self.terms and last:
            self.terms.append(word)
        elif word in language.negators:
            self._denied = True
            for more in language.negators[word]:
                self._add(more)
        elif word in language.belongs and not last:
            self._swap = bool(self.terms)
        elif self._counts(word, before, last=last):
            self._add(word)
            self._note_number(word, before)

    def _counts(self, word: str, before: Words, *, last: bool) -> bool:
        language = self._language
        if word in language.particles:
            return last
        if word in language.numbers.halves and before and is_number(before[-1]):
            return True  # "7 am" is no "I am"
        if word == "1" and before and (before[-1] in language.choosers or _ordinal(before[-1])):
            return False
        return not (
            word in language.harmless
            or word in language.articles
            or word in language.persons
            or word in language.pointers
        )

    def _add(self, word: str) -> None:
        term = word if is_number(word) else self._basic(word)
        term = DENIED + term if self._denied else term
        self._denied = False
        if self._swap and self._belongs(term):
            self.terms.insert(-1, term)
        else:
            self.terms.append(term)
        self._swap = False

    def _belongs(self, term: str) -> bool:
        """Whether what was said last is said of this: "the third *of* May", not "tomorrow *in* the morning"."""
        language, last = self._language, self.terms[-1]
        if term in language.numbers.months:
            return True
        return not (is_number(term) or is_number(last) or {term, last} <= language.movable)

    def _basic(self, word: str) -> str:
        basic = self._language.stem(word)
        return self._language.synonyms.get(basic, basic)

    def _note_number(self, word: str, before: Words) -> None:
        language = self._language
        if is_number(word) or word in language.uninflected:
            return
        term = self._basic(word)
        many = word.endswith(language.plural_endings) or word in language.irregular
        if not language.definite.isdisjoint(before):
            (self.plural if many else self.single).append(term)
        if before and before[-1] in language.owners:
            self.owned.append(term)
        if many:
            self.inflected.append(term)
        elif not before or not (before[-1] in language.articles or before[-1] in language.definite):
            self.bare.append(term)


def _only_tells_when(words: Words, at: int, language: Language) -> bool:
    """Whether the word there only says of another when it happens."""
    word, following = words[at], words[at + 1 : at + _NEAR]
    if word in language.perfect:
        return any(_is_past(other, language) for other in following)
    return word in language.past or word in language.future


def _is_past(word: str, language: Language) -> bool:
    if word in language.past_forms:
        return True
    return word.endswith(language.past_endings) and word not in language.uninflected and len(word) > _NEAR


def _ordinal(word: str) -> bool:
    return is_number(word) and word[-1:].isalpha()


def _bundled(terms: Words, language: Language) -> Words:
    for bundle, stands_for in language.bundles.items():
        if bundle <= set(terms):
            rest = tuple(term for term in terms if term not in bundle and term != stands_for)
            terms = (stands_for, *rest)
    return terms
