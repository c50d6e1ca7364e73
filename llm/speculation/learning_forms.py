"""Forms as earlier dialogues show them: what is said to a wish for listed things, whichever they are. Pure.

Where an application says which slots a turn named, its users' own words make the lists. A turn that is a wish for
listed things and nothing else is told by the slots that it names, and what agents answer to most such turns, whatever
was in the slots, is the reply. A thing that leads elsewhere, as what is not on the menu does, leaves its list.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turngap.llm.speculation.forms import Filled, Form, Forms
from turngap.llm.speculation.language import Language
from turngap.llm.speculation.learning import Evidence, Exchange, alike, learn

LISTED: Final = 2
"""A thing is listed if it was named in so many dialogues."""
_ASKED: Final = "{asked}"
JOINTS: Final = ("with", "and", "of", "in")
"""What may stand between two things; no language's list has them yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedForms:
    """What a file of replies needs for them."""

    slots: Mapping[str, tuple[str, ...]]
    forms: tuple[Form, ...]

    def matching(self, language: Language) -> Forms | None:
        """They, ready to be looked up; None if there are none."""
        return Forms(language, slots=self.slots, forms=self.forms, joints=JOINTS) if self.forms else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """An exchange whose turn was a wish for listed things, and its reply with them taken out."""

    dialogue: int
    filled: Filled
    exchange: Exchange


def learn_forms(
    dialogues: Iterable[Sequence[Exchange]], language: Language, evidence: Evidence | None = None
) -> LearnedForms:
    """The forms in ``dialogues``, those with most evidence first."""
    evidence = evidence or Evidence()
    log = [list(each) for each in dialogues]
    slots = _listed(log)
    cases = list(_cases(log, slots, language))
    by_dialogue: dict[int, list[Exchange]] = defaultdict(list)
    for case in cases:
        by_dialogue[case.dialogue].append(case.exchange)
    named = {case.exchange.said: frozenset(case.filled.slots) for case in cases}
    forms, strays = [], set()
    for reply in learn(by_dialogue.values(), language, evidence):
        of = [case for case in cases if case.exchange.said in reply.utterances]
        says = tuple(each for each in reply.says if not _names_any(each, slots) and _says_back(each, of))
        if says:
            forms.append(Form(must=named[reply.utterances[0]], may=frozenset(), says=says))
            like = Exchange(after="", said="", reply=reply.says[0], act=_act(reply.says[0], cases))
            strays |= _strays(of, like, language, evidence)
    used = {slot for form in forms for slot in form.must}
    kept = {slot: tuple(each for each in slots[slot] if (slot, each) not in strays) for slot in slots if slot in used}
    return LearnedForms(slots=kept, forms=tuple(form for form in forms if all(kept[slot] for slot in form.must)))


def _listed(log: Sequence[Sequence[Exchange]]) -> dict[str, list[str]]:
    """What users named in enough dialogues, by slot; each thing in one of them only."""
    found: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, exchanges in enumerate(log):
        for each in exchanges:
            for slot, value in each.slots:
                found[slot][value.casefold()].add(number)
    slots: dict[str, list[str]] = {}
    taken: set[str] = set()
    for slot, values in found.items():
        usual = [value for value, numbers in values.items() if len(numbers) >= LISTED and value not in taken]
        taken.update(usual)
        if usual:
            slots[slot] = usual
    return slots


def _cases(
    log: Sequence[Sequence[Exchange]], slots: Mapping[str, Sequence[str]], language: Language
) -> Iterator[_Case]:
    any_of_them = Form(must=frozenset(), may=frozenset(slots), says=(_ASKED,))
    forms = Forms(language, slots=slots, forms=[any_of_them], joints=JOINTS)
    for number, exchanges in enumerate(log):
        for each in exchanges:
            filled = forms.match(each.said)
            if filled is not None and not {"{", "}"} & set(each.reply):
                said = "form " + " and ".join(sorted(filled.slots))
                reply = _template(each.reply, filled.text)
                yield _Case(
                    dialogue=number, filled=filled, exchange=replace(each, after="", state="", said=said, reply=reply)
                )


def _template(reply: str, asked: str) -> str:
    """``reply`` with what the user asked for left open, if it says that back."""
    at = reply.casefold().find(asked.casefold())
    return reply if at < 0 else f"{reply[:at]}{_ASKED}{reply[at + len(asked) :]}"


def _names_any(text: str, slots: Mapping[str, Sequence[str]]) -> bool:
    return any(value in text.casefold() for values in slots.values() for value in values)


def _says_back(text: str, cases: Iterable[_Case]) -> bool:
    """Whether more than one thing was said back in ``text``, if any is."""
    asked = {case.filled.text.casefold() for case in cases if _ASKED in case.exchange.reply}
    return _ASKED not in text or len(asked) >= LISTED


def _act(reply: str, cases: Iterable[_Case]) -> str:
    return next(case.exchange.act for case in cases if case.exchange.reply == reply)


def _strays(cases: Iterable[_Case], like: Exchange, language: Language, evidence: Evidence) -> set[tuple[str, str]]:
    """The things that do not lead to the reply ``like`` often enough."""
    led: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for case in cases:
        right = alike(case.exchange, like, language)
        for slot, value in case.filled.slots.items():
            led[slot, value.casefold()].append(right)
    return {thing for thing, each in led.items() if sum(each) < evidence.share * len(each)}
