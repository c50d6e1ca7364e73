"""Replies that earlier dialogues show to be right again. Pure.

Most answers in a log fit one dialogue only. One is taken over only where agents have often answered the same turn
alike: in several dialogues, and in most of those in which it came up. What counts as the same turn is for the guard to
say, as when it is looked up later. A reply is known in the state that the application names, if it names any, or after
what the agent had said just before. It is known anywhere if the turn was answered alike wherever it was said, and says
something by itself, as "yes" and "that one" do not.

Even so, all these dialogues may have had the same order. So a reply is refused if it names what it cannot know: see
:mod:`carried`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from turngap.llm.speculation.carried import Common, unfounded
from turngap.llm.speculation.formulas import formula
from turngap.llm.speculation.guard import differing
from turngap.llm.speculation.language import Language, Words
from turngap.llm.speculation.meaning import ANSWERED, DENIED, Meaning, meaning
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.numerals import is_number
from turngap.llm.speculation.stored import ABOUT, StoredReply

WORDINGS: Final = 3
"""So many wordings of one reply take turns."""
ALIKE: Final = 0.5
"""Replies are alike if they have so much in common: "it will be ready soon" and "it will be ready in a moment"."""
OTHERS: Final = 2
"""Every word of a reply that means something is in the replies of so many dialogues."""
COMPARED: Final = 300
"""So many replies to one turn are compared with each other."""
TOPICS: Final = 8
"""Of so many words that the agent often says before a turn, each two may tell what it is about."""
PLACES: Final = 3
"""What was said after so many different words of the agent was said anywhere."""
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A turn of the user, what the agent had said just before (empty at the beginning), and what it answered."""

    after: str
    said: str
    reply: str
    state: str = ""
    """What the application calls the state in which the user spoke, if it gives it a name."""
    act: str = ""
    """What it calls the reply, with the values that it names: replies that are called the same are alike."""
    slots: tuple[tuple[str, str], ...] = ()
    """What the user named, in his own words, as far as the application says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How much of it makes a reply known."""

    dialogues: int = 3
    """In so many it was given,"""
    share: float = 0.6
    """and in so many of those in which the turn came up."""
    most: int = 1000
    """So many replies are taken over, those that were given most often."""


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    text: str
    words: Words
    meaning: Meaning
    terms: frozenset[str]
    """Denied ones are others."""
    formula: str
    """What it does if it is nothing but a formula."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Case:
    """An exchange in its dialogue."""

    dialogue: int
    after: _Text
    said: _Text
    reply: _Text
    state: str
    act: str
    earlier: frozenset[str]
    """What the user had said before."""


def learn(
    dialogues: Iterable[Sequence[Exchange]], language: Language, evidence: Evidence | None = None
) -> list[StoredReply]:
    """The replies in ``dialogues`` that may be given again, those with most evidence first."""
    evidence = evidence or Evidence()
    log = _Log(dialogues, language, evidence)
    found: list[tuple[int, StoredReply]] = []
    known: dict[Words, list[_Case]] = defaultdict(list)
    grouped = [(place, log.groups(place)) for place in (_anywhere, _state, _last_sentence, _all)]
    # What it is about is a name for a state, too, but the log's own and not the application's.
    for place, groups in [*grouped, (_state, log.topics())]:
        for state, cases in groups:
            replies = log.answers(cases, place)
            turns = {case.said.words: case.said.text for case in cases}
            if not replies or all(any(_alike(replies[0], each) for each in known[turn]) for turn in turns):
                continue
            if place is _anywhere:
                for turn in turns:
                    known[turn].append(replies[0])
            reply = StoredReply(
                utterances=tuple(turns.values()),
                says=tuple(case.reply.text for case in replies),
                state=state,
                source="log",
            )
            found.append((_count(cases), reply))
    found.sort(key=lambda each: -each[0])
    return [reply for _, reply in found[: evidence.most]]


_Place: TypeAlias = Callable[[_Case], str]
"""Where a turn was said: the name of that place, in words or otherwise."""


def alike(one: Exchange, two: Exchange, language: Language) -> bool:
    """Whether two replies tell the same, though perhaps not in the same words."""
    log = _Log([[one, two]], language, Evidence())
    return _alike(*log.cases)


def _anywhere(case: _Case) -> str:
    return ""


def _state(case: _Case) -> str:
    return case.state


def _last_sentence(case: _Case) -> str:
    return _SENTENCE_ENDS.split(case.after.text.strip())[-1]


def _all(case: _Case) -> str:
    """Nowhere else, if it is one sentence."""
    return "" if _last_sentence(case) == case.after.text.strip() else case.after.text


class _Log:
    """What was said in all dialogues."""

    def __init__(self, dialogues: Iterable[Sequence[Exchange]], language: Language, evidence: Evidence) -> None:
        self._language = language
        self._evidence = evidence
        self._texts: dict[str, _Text] = {}
        self._kinds: dict[frozenset[str], list[_Text]] = {}
        self.cases = [case for number, each in enumerate(dialogues) for case in self._read(number, each)]
        self._common = Common(case.reply.text for case in self.cases)

    def groups(self, place: _Place) -> Iterator[tuple[str, list[_Case]]]:
        """The cases in which the same was said in the same place, and its name."""
        found: dict[tuple[_Text, _Text], list[_Case]] = defaultdict(list)
        for case in self.cases:
            at = place(case)
            if (at or place is _anywhere) and case.said.words:
                found[self._kind(self._text(at)), self._kind(case.said)].append(case)
        for cases in found.values():
            yield place(cases[0]), cases

    def topics(self) -> Iterator[tuple[str, list[_Case]]]:
        """The cases in which the same was said after sentences about the same, which two words tell."""
        for _, cases in self.groups(_anywhere):
            if _count(cases) < self._evidence.dialogues:
                continue
            asked = {case: self._kind(self._text(_last_sentence(case))) for case in cases}
            usual = Counter(term for text in asked.values() for term in sorted(text.terms) if self._tells(term))
            for pair in combinations([term for term, _ in usual.most_common(TOPICS)], 2):
                after = [case for case in cases if asked[case].terms.issuperset(pair)]
                if len({asked[case] for case in after}) >= PLACES:
                    words = [self._word(term, asked[after[0]]) for term in sorted(pair)]
                    yield ABOUT + " ".join(words), after

    def _tells(self, term: str) -> bool:
        return not (is_number(term) or term.startswith((DENIED, ANSWERED)))

    def _word(self, term: str, text: _Text) -> str:
        """The word of ``text`` that has this basic form, as it was written."""
        same = (word for word in text.words if meaning((word,), self._language).terms == (term,))
        return next(same, term)

    def answers(self, cases: Sequence[_Case], place: _Place) -> list[_Case]:
        """What may be said again in such a case, the most usual first; nothing if there is too little evidence."""
        if _count(cases) < self._evidence.dialogues or (place is _anywhere and not self._stands_alone(cases)):
            return []
        replies = list({(case.reply.words, case.act): case for case in cases}.values())[:COMPARED]
        best = max(([other for other in cases if _alike(case, other)] for case in replies), key=_count)
        if _count(best) < max(self._evidence.dialogues, self._evidence.share * _count(cases)):
            return []
        told = {case.reply.words: case for case in best[:COMPARED] if self._founded(case, best, place)}
        return sorted(told.values(), key=lambda case: -_typical(case, best))[:WORDINGS]

    def _read(self, number: int, dialogue: Sequence[Exchange]) -> Iterator[_Case]:
        earlier: frozenset[str] = frozenset()
        for each in dialogue:
            said = self._text(each.said)
            yield _Case(
                dialogue=number,
                after=self._text(each.after),
                said=said,
                reply=self._text(each.reply),
                state=each.state,
                act=each.act,
                earlier=earlier,
            )
            earlier |= said.terms

    def _text(self, text: str) -> _Text:
        if text not in self._texts:
            words = normal(text, self._language)
            meant = meaning(words, self._language)
            self._texts[text] = _Text(text, words, meant, frozenset(meant.terms), formula(text, self._language))
        return self._texts[text]

    def _kind(self, text: _Text) -> _Text:
        """The first text that says the same."""
        alike = self._kinds.setdefault(text.terms - {"1"}, [])
        for each in alike:
            if each.words == text.words or not differing(text.meaning, each.meaning, self._language):
                return each
        alike.append(text)
        return text

    def _stands_alone(self, cases: Sequence[_Case]) -> bool:
        """Whether a turn says something by itself, and was said in enough places, or to begin with."""
        said = cases[0].said.meaning
        answers = self._language.yes | self._language.no | {DENIED}
        says = [term for term in said.terms if not (is_number(term) or term.startswith(ANSWERED) or term in answers)]
        led = any(term.startswith(ANSWERED) for term in said.terms)
        places = {self._kind(case.after) for case in cases}
        opens = all(not case.after.text for case in cases)
        return bool(says) and not led and not said.pointed and (opens or len(places) >= PLACES)

    def _founded(self, case: _Case, cases: Sequence[_Case], place: _Place) -> bool:
        """Whether a reply names nothing but what it can know."""
        heard = [case.said.text] if place in (_anywhere, _state) else [case.said.text, place(case)]
        if unfounded(case.reply.text, heard, self._common, self._language):
            return False
        if case.reply.formula:
            return True
        own = case.reply.terms.difference(*(self._text(each).terms for each in heard))
        return not any(self._carried(term, cases) for term in own)

    def _carried(self, term: str, cases: Sequence[_Case]) -> bool:
        """Whether a term comes from one dialogue: nobody else says it, or every one of these users had said it before;
        what is denied may be so no longer."""
        saying = [other for other in cases if term in other.reply.terms]
        return term.startswith(DENIED) or _count(saying) < OTHERS or all(term in other.earlier for other in saying)


def _alike(one: _Case, two: _Case) -> bool:
    """Whether two replies tell the same, though perhaps not in the same words."""
    if one.reply.words == two.reply.words or (one.reply.formula and one.reply.formula == two.reply.formula):
        return True
    differs = one.reply.terms ^ two.reply.terms
    if any(is_number(each) for each in differs) or (one.act and two.act and one.act != two.act):
        return False
    return (one.act != "" and one.act == two.act) or _worded_alike(one.reply, two.reply)


def _worded_alike(one: _Text, two: _Text) -> bool:
    if one.meaning.asked != two.meaning.asked or any(each.startswith(DENIED) for each in one.terms ^ two.terms):
        return False
    return len(one.terms & two.terms) >= ALIKE * max(len(one.terms), len(two.terms), 1)


def _typical(case: _Case, cases: Iterable[_Case]) -> float:
    """How much others say of what this reply says, and nothing else."""
    own = frozenset(case.reply.words)
    others = (frozenset(other.reply.words) for other in cases)
    return sum(len(own & other) / max(len(own | other), 1) for other in others)


def _count(cases: Iterable[_Case]) -> int:
    """In how many dialogues these were."""
    return len({case.dialogue for case in cases})
