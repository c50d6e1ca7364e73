"""Replies that are known in advance, and which of them answers what the user is saying. Pure.

What a recogniser has heard is looked up in normal form, which takes microseconds however many replies there are.
Failing that, a turn that was known may be said in other words: of all known turns those are found that have every
meaningful word in common with it, the guard has to see no conflict, and where embeddings are at hand these have to
be close as well. So no embedding is ever searched while somebody waits for an answer, and none can widen a match.

Memory is bounded: when there are too many replies, or too many bytes of them, those go that were not used for longest.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turngap.llm.speculation.guard import differing
from turngap.llm.speculation.language import Language, Words
from turngap.llm.speculation.meaning import Meaning, meaning
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.stored import ABOUT, StoredReply

Vector: TypeAlias = NDArray[np.float32]
How: TypeAlias = Literal["exact", "paraphrase"]
Similar: TypeAlias = Callable[[str], Vector | None]
"""The embedding of a text, of length one; None if it is not there (yet). Must not block."""

CLOSE: Final = 0.5
"""Paraphrases are at least so close; the guard decides, this keeps out what its word lists have not foreseen."""
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?])\s+")
_RANK: Final = ("file", "log", "predicted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A stored reply that answers what was said."""

    reply: StoredReply
    text: str
    """Of what the reply may say, that whose turn it is."""
    how: How
    score: float | None
    """How close it is to what is known: 1 if it is the same, None where no embeddings were at hand."""
    known: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A known turn beside what was said, and why it is not taken for the same; ``refusal`` is None if it is."""

    reply: StoredReply
    known: str
    how: How
    score: float | None
    refusal: str | None


@dataclass(slots=True, eq=False)
class _Entry:
    """A reply, how often it was said, and the turns that lead to it."""

    reply: StoredReply
    said: int = 0
    turns: "dict[Words, _Known]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """A turn that a reply is known for."""

    entry: _Entry
    state: Words
    text: str
    words: Words
    meaning: Meaning


class Replies:
    """A bounded store of replies in one language."""

    def __init__(
        self, language: Language, *, max_entries: int = 2000, max_bytes: int = 256 << 20, close: float = CLOSE
    ) -> None:
        self._language = language
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._close = close
        self._entries: OrderedDict[int, _Entry] = OrderedDict()  # by their own id, least recently used first
        self._exact: dict[tuple[Words, Words], _Known] = {}
        self._alike: dict[tuple[Words, frozenset[str]], list[_Known]] = {}
        self._vectors: dict[Words, Vector] = {}
        self._uses: Counter[Words] = Counter()  # one turn may be known in many states
        self._bytes = 0
        self._inside: Counter[Words] = Counter()  # how many turns are known in each state
        self._places: dict[frozenset[str], dict[Words, Meaning]] = {}
        self._topics: dict[Words, None] = {}
        """States that tell only what they are about."""
        self._place: tuple[str, list[Words]] | None = None
        """The state that was last asked for, as it is while somebody speaks, and what it is known by."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[StoredReply]:
        """The replies, least recently used first."""
        return (entry.reply for entry in self._entries.values())

    @property
    def size(self) -> int:
        """Bytes of all replies, nearly."""
        return self._bytes

    def add(self, reply: StoredReply) -> None:
        """Know ``reply``. It takes over turns that were known in its state, unless from a better source."""
        entry = _Entry(reply)
        state = self._key(reply.state)
        for text in reply.utterances:
            self._know(entry, state, text)
        if entry.turns:
            self._entries[id(entry)] = entry
            self._bytes += reply.size
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries.values())))

    def learn(self, vectors: Mapping[str, Vector]) -> None:
        """Take the embeddings of known turns; those of others are left alone."""
        for text, vector in vectors.items():
            words = normal(text, self._language)
            if words in self._uses:
                self._vectors[words] = vector

    def unlearned(self) -> list[str]:
        """The turns whose embeddings are still to be learned, as they have to be embedded."""
        return [" ".join(words) for words in self._uses if words not in self._vectors]

    def match(self, state: str, words: str, *, similar: Similar | None = None) -> Match | None:
        """The reply to ``words`` after ``state`` (a label, or what the agent said last), if one is known."""
        said = normal(words, self._language)
        if not said:
            return None
        states = self._states(state)
        for each in states:
            if known := self._exact.get((each, said)):
                return self._matched(known, "exact", 1.0)
        meant = meaning(said, self._language)
        for each in states:
            for known in self._alike.get((each, _signature(meant)), ()):
                if not differing(meant, known.meaning, self._language):
                    score = self._score(said, known, similar)
                    if score is None or score >= self._close:
                        return self._matched(known, "paraphrase", score)
        return None

    def explain(self, state: str, words: str, *, similar: Similar | None = None, limit: int = 10) -> list[Candidate]:
        """What is known that comes closest, what would be said first, and why the rest is not. It takes its time."""
        said = normal(words, self._language)
        meant, states = meaning(said, self._language), self._states(state)
        found = []
        for known in self._exact.values():
            how: How = "exact" if said == known.words else "paraphrase"
            score = 1.0 if how == "exact" else self._score(said, known, similar)
            refusal = self._refusal(meant, known, states, how, score)
            candidate = Candidate(reply=known.entry.reply, known=known.text, how=how, score=score, refusal=refusal)
            nearness = score if score is not None else _shared(said, known.words)
            found.append(((refusal is not None, how != "exact", -nearness, known.text), candidate))
        found.sort(key=lambda each: each[0])
        return [candidate for _, candidate in found[:limit]]

    def said(self, match: Match) -> None:
        """The reply of ``match`` was spoken: next time it says the next of what it may say."""
        known = self._exact.get((self._key(match.reply.state), normal(match.known, self._language)))
        if known is not None and known.entry.reply is match.reply:
            known.entry.said += 1

    def _states(self, state: str) -> list[Words]:
        """What ``state`` may be known by: all of it, its last sentence, other words for these, and anywhere."""
        if self._place is None or self._place[0] != state:
            sentences = _SENTENCE_ENDS.split(state.strip())
            said = [normal(state, self._language), normal(sentences[-1], self._language)]
            alike = [known for words in said for known in self._same_place(words)]
            held = set(meaning(said[1], self._language).terms)
            about = sorted((each for each in self._topics if held.issuperset(each[1:])), key=len, reverse=True)
            self._place = state, list(dict.fromkeys([*said, *alike, *about, ()]))
        return self._place[1]

    def _key(self, state: str) -> Words:
        """What a state is kept under; those that tell only what it is about begin with a mark, which no word is."""
        if not state.startswith(ABOUT):
            return normal(state, self._language)
        return (ABOUT, *sorted(set(meaning(normal(state, self._language), self._language).terms)))

    def _same_place(self, words: Words) -> list[Words]:
        """The states that are known in words that say the same."""
        meant = meaning(words, self._language)
        same = self._places.get(_signature(meant), {})
        return [known for known, other in same.items() if not differing(meant, other, self._language)]

    def _open(self, state: Words) -> None:
        """A turn more is known in ``state``."""
        if not self._inside[state] and state[:1] == (ABOUT,):
            self._topics[state] = None
            self._place = None
        elif not self._inside[state]:
            meant = meaning(state, self._language)
            self._places.setdefault(_signature(meant), {})[state] = meant
            self._place = None
        self._inside[state] += 1

    def _leave(self, state: Words) -> None:
        """A turn less is known in ``state``."""
        self._inside[state] -= 1
        if not self._inside[state]:
            del self._inside[state]
            self._place = None
            if self._topics.pop(state, state) is None:
                return
            same = self._places[signature := _signature(meaning(state, self._language))]
            del same[state]
            if not same:
                del self._places[signature]

    def _know(self, entry: _Entry, state: Words, text: str) -> None:
        words = normal(text, self._language)
        before = self._exact.get((state, words))
        if not words or (before and _rank(before.entry.reply) < _rank(entry.reply)):
            return
        if before and before.entry is entry:
            return  # two ways to write the same
        if before:
            self._forget(before)
        known = _Known(entry=entry, state=state, text=text, words=words, meaning=meaning(words, self._language))
        entry.turns[words] = known
        self._exact[state, words] = known
        self._alike.setdefault((state, _signature(known.meaning)), []).append(known)
        self._uses[words] += 1
        self._open(state)

    def _forget(self, known: _Known) -> None:
        """Let go of a turn, and of its reply with its last turn."""
        del known.entry.turns[known.words]
        del self._exact[known.state, known.words]
        alike = self._alike[known.state, _signature(known.meaning)]
        alike.remove(known)
        if not alike:
            del self._alike[known.state, _signature(known.meaning)]
        self._leave(known.state)
        self._uses[known.words] -= 1
        if not self._uses[known.words]:
            del self._uses[known.words]
            self._vectors.pop(known.words, None)
        if not known.entry.turns and id(known.entry) in self._entries:
            del self._entries[id(known.entry)]
            self._bytes -= known.entry.reply.size

    def _drop(self, entry: _Entry) -> None:
        for known in list(entry.turns.values()):
            self._forget(known)

    def _matched(self, known: _Known, how: How, score: float | None) -> Match:
        entry = known.entry
        self._entries.move_to_end(id(entry))
        text = entry.reply.says[entry.said % len(entry.reply.says)]
        return Match(reply=entry.reply, text=text, how=how, score=score, known=known.text)

    def _score(self, said: Words, known: _Known, similar: Similar | None) -> float | None:
        vector = self._vectors.get(known.words)
        other = None if similar is None or vector is None else similar(" ".join(said))
        return None if vector is None or other is None else float(vector @ other)

    def _refusal(self, meant: Meaning, known: _Known, states: list[Words], how: How, score: float | None) -> str | None:
        if known.state not in states:
            return f"state: only after “{' '.join(known.state)}”"
        if how == "exact":
            return None
        if reason := differing(meant, known.meaning, self._language):
            return reason
        return None if score is None or score >= self._close else f"distance: {score:.2f} is below {self._close:.2f}"


def _rank(reply: StoredReply) -> int:
    return _RANK.index(reply.source)


def _signature(meant: Meaning) -> frozenset[str]:
    """What meanings without a conflict have in common; a "1" may stand for an article."""
    return frozenset(term for term in meant.terms if term != "1")


def _shared(one: Words, two: Words) -> float:
    """The share of words that two turns have in common, for want of anything better."""
    both = set(one) | set(two)
    return len(set(one) & set(two)) / len(both) if both else 0.0
