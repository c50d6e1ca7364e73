"""Forms: turns that say nothing but what is on a list, like an order, and replies that say it back. Pure.

No two orders are alike, so none is known in advance; but where all that somebody says is a wish for things that the
developer has listed, the reply is known up to the user's own words. These are said back as they were heard, never
looked up and never put together anew, so nothing can be confirmed that was not said. Whatever is not on a list, not a
word that joins two of them and not the frame of a wish makes it another turn: "without", "no", "two", "or", a name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from turngap.llm.speculation.language import Language, Words
from turngap.llm.speculation.normal import normal

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_STOPS: Final = re.compile(r"\s*[.!?;:]+(?=\s)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is said back to a wish that names each of ``must`` and perhaps some of ``may``, each once."""

    must: frozenset[str]
    may: frozenset[str]
    says: tuple[str, ...]
    """With ``{asked}`` for the user's own words, from the first listed thing to the last, and ``{slot}`` for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A form, the words that fill it, and the reply."""

    form: Form
    slots: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Found:
    slot: str
    first: int
    last: int
    """Of its tokens, the one after the last."""


class Forms:
    """The forms of one agent. ``slots`` lists what may be named, ``wishes`` more ways to begin than the language has,
    ``joints`` what may stand between two things."""

    def __init__(
        self,
        language: Language,
        *,
        slots: Mapping[str, Sequence[str]],
        forms: Sequence[Form],
        wishes: Sequence[str] = (),
        joints: Sequence[str] = (),
    ) -> None:
        self._language = language
        self._forms = tuple(forms)
        self._wishes = {_plain(wish) for wish in wishes}
        self._joints = frozenset(joints) | language.articles
        self._values: dict[str, list[tuple[Words, str]]] = {}
        for slot, values in slots.items():
            for words in map(_plain, values):
                self._values.setdefault(words[0], []).append((words, slot))
        for known in self._values.values():
            known.sort(key=lambda value: -len(value[0]))
        self._said = 0

    def match(self, text: str) -> Filled | None:
        """The reply to ``text``, if it is a wish for listed things and nothing else."""
        tokens = [_Token(match[0].casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]
        found = self._listed(tokens)
        if not found or not self._joined(tokens, found) or not self._is_wish(text, tokens, found):
            return None
        slots = {each.slot: text[tokens[each.first].start : tokens[each.last - 1].end] for each in found}
        asked = _STOPS.sub("", text[tokens[found[0].first].start : tokens[found[-1].last - 1].end])
        for form in self._forms:
            if form.must <= slots.keys() <= form.must | form.may:
                says = form.says[self._said % len(form.says)]
                return Filled(form=form, slots=slots, text=_capital(says.format(asked=asked, **slots)))
        return None

    def said(self) -> None:
        """A reply was spoken: the next one is worded otherwise, where there is another wording."""
        self._said += 1

    def _listed(self, tokens: Sequence[_Token]) -> list[_Found]:
        """Every listed thing, the longest first where two begin alike; empty where one slot is named twice."""
        found: list[_Found] = []
        at = 0
        while at < len(tokens):
            words = next(
                (
                    (value, slot)
                    for value, slot in self._values.get(tokens[at].word, ())
                    if tuple(token.word for token in tokens[at : at + len(value)]) == value
                ),
                None,
            )
            if words is None:
                at += 1
                continue
            found.append(_Found(words[1], at, at + len(words[0])))
            at += len(words[0])
        return found if len({each.slot for each in found}) == len(found) else []

    def _joined(self, tokens: Sequence[_Token], found: Sequence[_Found]) -> bool:
        """Whether nothing but joints stands between the things."""
        inside = {index for each in found for index in range(each.first, each.last)}
        between = range(found[0].first, found[-1].last)
        return all(tokens[index].word in self._joints for index in between if index not in inside)

    def _is_wish(self, text: str, tokens: Sequence[_Token], found: Sequence[_Found]) -> bool:
        before = normal(text[: tokens[found[0].first].start], self._language)
        after = normal(text[tokens[found[-1].last - 1].end :], self._language)
        idle = self._language.courtesies | self._language.greetings
        unfinished = any(token.word in self._joints for token in tokens[found[-1].last :])
        if unfinished or any(word not in idle for word in self._language.asides.apply(after)):
            return False
        wish = tuple(word for word in before if word not in idle)
        while wish and wish[-1] in self._language.articles:
            wish = wish[:-1]
        return not wish or wish in self._wishes or wish in self._language.frames.rows


def _plain(text: str) -> Words:
    return tuple(match[0].casefold() for match in _WORD.finditer(text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
