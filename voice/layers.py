"""What became of each layer of speculation in one turn, what it won, and what was wasted. Pure.

What a layer won is the time by which the reply was heard sooner than in the same turn without it. For drafts that is
known: all that followed on the request would have followed on the endpoint, or on the transcript where that came later.
For an opener too: the reply would have been heard when it was. For a reply that was known in advance it is as good as
known once replies of this conversation were made by the model: it would have taken what they take. What a warm prefix
wins is not known, and so it is None.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from turngap.budget.clock import Ns, milliseconds
from turngap.budget.marks import Mark, Marked


class Layer(StrEnum):
    """What was ready, or begun, before it was known that it is wanted."""

    PREFIX = "prefix"
    """What the prompt begins with, taken in by the backend while the user speaks."""
    SUPPOSITION = "supposition"
    """A draft on words that were only supposed."""
    DRAFT = "draft"
    """A draft on the words of a pause that may not be the end."""
    REPLY = "reply"
    """A reply that was known in advance."""
    OPENER = "opener"


class Fate(StrEnum):
    STARTED = "started"
    HIT = "hit"
    """It was heard."""
    MISSED = "missed"
    """Something else was wanted, or there was nothing that fits."""
    CANCELLED = "cancelled"
    """Nobody wanted anything: the user went on, or the turn was over."""


@dataclass(slots=True)
class Layers:
    """The speculation of one turn."""

    usual: Ns | None = None
    """From the request to the first audio, as replies that the model made in this conversation have taken."""
    wasted_tokens: int = 0
    wasted_ns: Ns = 0
    """Of the backend's time."""
    wasted_samples: int = 0
    discarded: int = 0
    _fates: Counter[tuple[Layer, Fate]] = field(default_factory=Counter)

    def note(self, layer: Layer, fate: Fate) -> None:
        self._fates[layer, fate] += 1

    def wasted(self, *, tokens: int, took: Ns, samples: int) -> None:
        """A draft was thrown away unheard."""
        self.discarded += 1
        self.wasted_tokens += tokens
        self.wasted_ns += took
        self.wasted_samples += samples

    def hit(self, layer: Layer) -> bool:
        return self._fates[layer, Fate.HIT] > 0

    def won(self, layer: Layer, marks: Mapping[Mark, Marked], content_at: Ns | None) -> Ns | None:
        """By how much sooner the reply was heard for this layer; None where that is not known. ``content_at`` is when
        more than an opener was heard."""
        sent = marks.get(Mark.SENT)
        if not self.hit(layer) or sent is None:
            return None
        if layer is Layer.OPENER:
            return None if content_at is None else content_at - sent.at
        heard_at = sent.at if content_at is None else content_at
        without = self._without(layer, marks)
        return None if without is None else max(0, without - heard_at)

    def _without(self, layer: Layer, marks: Mapping[Mark, Marked]) -> Ns | None:
        """When the first audio would have been there without the layer."""
        begins = [marks[mark].at for mark in (Mark.ENDPOINT, Mark.TRANSCRIPT) if mark in marks]
        if layer is Layer.PREFIX or not begins:
            return None
        if layer is Layer.REPLY:
            took = self.usual
        else:
            asked, made = marks.get(Mark.REQUEST), marks.get(Mark.FIRST_AUDIO)
            took = None if asked is None or made is None else made.at - asked.at
        return None if took is None else max(begins) + took

    def to_json(self, marks: Mapping[Mark, Marked], content_at: Ns | None) -> dict[str, Any]:
        return {
            "layers": {layer.value: self._layer(layer, marks, content_at) for layer in Layer if self._touched(layer)},
            "discarded": self.discarded,
            "wasted_tokens": self.wasted_tokens,
            "wasted_ms": milliseconds(self.wasted_ns),
            "wasted_samples": self.wasted_samples,
        }

    def _touched(self, layer: Layer) -> bool:
        return any(self._fates[layer, fate] for fate in Fate)

    def _layer(self, layer: Layer, marks: Mapping[Mark, Marked], content_at: Ns | None) -> dict[str, Any]:
        won = self.won(layer, marks, content_at)
        fates = {fate.value: self._fates[layer, fate] for fate in Fate}
        return {**fates, "won_ms": None if won is None else milliseconds(won)}
