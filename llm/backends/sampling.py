"""Choosing the next token, and turning tokens back into text that can be streamed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

RECENT: Final = 48
"""Tokens of the reply that the repetition guard looks back on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """How a token is chosen: greedily unless ``temperature`` is above 0.

    A small model loops. ``repetition`` divides the score of what this reply has said recently, and a run of
    ``span`` tokens is never said twice: the first keeps replies varied, the second ends the loops that it misses.
    """

    temperature: float = 0.0
    repetition: float = 1.1
    span: int = 4
    seed: int = 0


LOOK_BACK: Final = 4
"""Tokens of an opener that what follows is decoded with: a character has no more."""


class Sampler:
    """Chooses the tokens of one reply."""

    def __init__(self, taste: Taste) -> None:
        self._taste = taste
        self._generator = torch.Generator().manual_seed(taste.seed) if taste.temperature > 0 else None

    @torch.inference_mode()
    def choose(self, logits: Tensor, said: Sequence[int]) -> int:
        """The next token after ``said``; ``logits`` may be changed."""
        if said and self._taste.repetition != 1:
            recent = torch.tensor(sorted(set(said[-RECENT:])), device=logits.device)
            scores = logits[recent]
            logits[recent] = torch.where(scores > 0, scores / self._taste.repetition, scores * self._taste.repetition)
        for token in _would_repeat(said, self._taste.span):
            logits[token] = float("-inf")
        if self._generator is None:
            return int(logits.argmax())
        chances = (logits.cpu() / self._taste.temperature).softmax(-1)
        return int(torch.multinomial(chances, 1, generator=self._generator))


def _would_repeat(said: Sequence[int], span: int) -> set[int]:
    """Tokens that would complete a run of ``span`` tokens which ``said`` already has."""
    if span < 2 or len(said) < span:
        return set()
    tail = list(said[len(said) - span + 1 :])
    return {said[i + span - 1] for i in range(len(said) - span + 1) if list(said[i : i + span - 1]) == tail}


class Detokeniser:
    """Text of a growing list of ids, as far as it is certain.

    Half a UTF-8 character is held back until it is whole, and so is the beginning of a stop string. Decoding starts a
    few tokens back, since some tokenizers drop the space before the first token of a text.
    The first ``given`` ids are an opener, which was said already; then the text may begin with the space after it.
    """

    def __init__(self, tokenizer: Any, stop: Sequence[str], *, given: int = 0, spaced: bool = False) -> None:
        self._tokenizer = tokenizer
        self._stop = [text for text in stop if text]
        self._text = ""
        self._given = 0
        self._begun = given > 0 and not spaced
        self._from, self._upto = max(0, given - LOOK_BACK), given
        self.stopped = False

    def feed(self, ids: list[int], *, last: bool = False) -> str:
        """What can be said now that was not before; ``last`` gives out what was held back."""
        known = self._decode(ids[self._from : self._upto])
        whole = self._decode(ids[self._from :])
        if len(whole) > len(known) and (last or not whole.endswith("\ufffd")):
            self._text += whole[len(known) :]
            self._from, self._upto = self._upto, len(ids)
        return self._release(last)

    def _release(self, last: bool) -> str:
        ends = [at for stop in self._stop if (at := self._text.find(stop)) >= 0]
        if ends:
            self.stopped = True
            self._text = self._text[: min(ends)]
        sure = len(self._text) if last or self.stopped else len(self._text) - self._held_back()
        new = self._text[self._given : sure]
        self._given = max(self._given, sure)
        if not self._begun:  # a reply does not begin with white space
            new = new.lstrip()
            self._begun = bool(new)
        return new

    def _held_back(self) -> int:
        """The length of the longest end of the text that begins a stop string."""
        return max(
            (n for stop in self._stop for n in range(1, len(stop)) if self._text.endswith(stop[:n])),
            default=0,
        )

    def _decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        return text
