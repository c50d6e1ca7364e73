"""Openers as the agents of earlier dialogues used them. Pure.

Which first words fit depends on what they promise. "Sure," and "great," agree, and are wrong before "unfortunately";
"let me see" and "well" go before anything. So from the replies to each kind of contribution is learned how often
agents refuse, which tells whether an opener may agree, and how they begin, which tells how these agents talk.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turngap.llm.speculation.acts import WORD, Act
from turngap.llm.speculation.learning import Exchange
from turngap.llm.speculation.openers import Openers

REFUSED: Final = 0.05
"""Where agents refuse more often than this, no opener agrees."""
DIALOGUES: Final = 3
"""In so many an opener was said after a kind of contribution."""
CHOICES: Final = 6
"""So many openers are known for each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """First words by what they promise, in lower case and without punctuation."""

    agreeing: frozenset[str]
    open: frozenset[str]
    """What promises nothing."""
    anywhere: tuple[str, ...]
    """Openers that promise nothing and go before the answer to anything: four open every turn, at a quarter each."""
    refusing: tuple[str, ...]
    """What a reply begins with that does not do what it was asked for."""

    spelled: Mapping[str, str] = field(default_factory=dict)
    """Of these, other ways to write one: "ok" is "okay"."""

    def refuses(self, reply: str) -> bool:
        """Whether ``reply`` begins with a refusal, perhaps after some sound: "Well, I'm sorry"."""
        said = _plain(reply)
        rest = said.removeprefix(self._first(said) or "").strip()
        return any(f"{said} ".startswith(f"{each} ") or f"{rest} ".startswith(f"{each} ") for each in self.refusing)

    def begins(self, reply: str) -> str | None:
        """The agreeing or open words that ``reply`` begins with, the longest; None if there are none."""
        first = self._first(_plain(reply))
        return None if first is None else self.spelled.get(first, first)

    def _first(self, said: str) -> str | None:
        found = [each for each in self.agreeing | self.open if f"{said} ".startswith(f"{each} ")]
        return max(found, key=len, default=None)


def learn_openers(dialogues: Iterable[Sequence[Exchange]], openers: Openers, manners: Manners) -> Openers:
    """``openers`` as the agents in ``dialogues`` would choose them; where they tell too little, as they were."""
    replies: dict[Act, list[tuple[int, str]]] = defaultdict(list)
    for number, exchanges in enumerate(dialogues):
        for each in exchanges:
            if act := openers.acts.of(each.said):
                replies[act].append((number, each.reply))
    texts = {act: _texts(replies[act], own, openers.all, manners) for act, own in openers.texts.items()}
    return Openers(acts=openers.acts, texts=texts, share=openers.share)


def _texts(
    replies: Sequence[tuple[int, str]], own: Sequence[str], all: Sequence[str], manners: Manners
) -> tuple[str, ...]:
    """The openers for one kind of contribution, the most usual first."""
    if len({number for number, _ in replies}) < DIALOGUES:
        return tuple(own)
    refused = sum(manners.refuses(reply) for _, reply in replies) / len(replies)
    fit = manners.open if refused > REFUSED else manners.open | manners.agreeing
    usual = [text for text in _usual(replies, manners) if text in fit]
    known: Mapping[str, str] = {_plain(text): text for text in all}
    said = [known.get(text, f"{text.capitalize()},") for text in usual]
    spare = [text for text in (*own, *manners.anywhere) if _plain(text) in fit]
    return tuple(dict.fromkeys([*said, *spare]))[:CHOICES]


def _usual(replies: Iterable[tuple[int, str]], manners: Manners) -> list[str]:
    """What enough of the replies begin with."""
    found: dict[str, set[int]] = defaultdict(set)
    for number, reply in replies:
        if first := manners.begins(reply):
            found[first].add(number)
    counts = Counter({text: len(numbers) for text, numbers in found.items()})
    return [text for text, count in counts.most_common() if count >= DIALOGUES]


def _plain(text: str) -> str:
    return " ".join(word.replace("’", "'") for word in WORD.findall(text.casefold()))
