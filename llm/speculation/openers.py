"""Openers: the first words of a reply whose content is not known yet. Pure.

An opener says no more than that its speaker was heard, so it fits whatever was said of its kind: a request, a question,
a statement, an answer. It must read well before the rest of the reply and can be left out without harm, since a reply
that is ready in time begins without it. Nobody likes to hear the same one again and again: the one that was said
longest ago is chosen, and none opens more than ``share`` of the turns.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from turngap.llm.speculation.acts import Act, Acts


@dataclass(frozen=True, slots=True, kw_only=True)
class Openers:
    """What may be said first after each kind of contribution; a kind that is missing has none."""

    acts: Acts
    texts: Mapping[Act, tuple[str, ...]]
    share: float = 0.25

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for texts in self.texts.values() for text in texts))


class Choice:
    """The openers of one conversation."""

    def __init__(self, openers: Openers, *, first: int = 0) -> None:
        """Where nothing was said yet, the one at ``first`` in its list goes first, counted round: many conversations
        are short, and need not all begin alike."""
        self._openers = openers
        self._first = first
        self._turns = 0
        self._spoken: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    def choose(self, words: str) -> str | None:
        """What to say first to ``words``, which may be unfinished; None if nothing fits or all was said too often."""
        act = self._openers.acts.of(words)
        fitting = () if act is None else self._openers.texts.get(act, ())
        if fitting:
            start = self._first % len(fitting)
            fitting = fitting[start:] + fitting[:start]
        # In the first turns any one of them is more than its share.
        most = max(1, int(self._openers.share * (self._turns + 1)))
        free = [text for text in fitting if self._spoken[text] < most]
        return min(free, key=lambda text: (self._last.get(text, -1), self._spoken[text]), default=None)

    def turn(self, spoken: str | None) -> None:
        """A turn was answered, and began with this opener, or none."""
        self._turns += 1
        if spoken is not None:
            self._spoken[spoken] += 1
            self._last[spoken] = self._turns
