"""When a simulated tier would have said each of its tokens. Pure: chance is a number that is given.

Every token has an instant of its own, counted from the request, so that one which comes late does not delay the
next: the rate over a reply is the rate that was asked for.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from turngap.budget.clock import MS, SECOND, Ns
from turngap.budget.errors import ConfigurationError
from turngap.llm.spec import Spec
from turngap.llm.tiers.catalogue import find_tier

OPTIONS: Final = {"ttft", "rate", "jitter", "queue", "prefill", "p95"}

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)?")
_UNITS: Final = {"us": 1_000, "ms": MS, "s": SECOND, None: MS}
_TOKEN: Final = re.compile(r"\s*[^\W_]{1,7}|\s*[^\w\s]|\s*_|\s+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The timing of a tier."""

    ttft: Ns
    """Request to first text of a short prompt on a warm connection, the queue left out."""
    rate: float
    """Tokens per second after the first."""
    jitter: float = 0.0
    """How far each reply's TTFT may lie off, as a share of it: 0.2 is anything from 20 % sooner to 20 % later."""
    tail: Ns = 0
    """One reply in ten is so much later than the others, which puts the 95th percentile there."""
    queue: Ns = 0
    """What each request waits before it is worked on."""
    prefill: float = 0.0
    """Tokens of prompt per second beyond the cached ones; 0: a prompt costs nothing beyond ``ttft``."""

    def __post_init__(self) -> None:
        if self.rate <= 0 or not 0 <= self.jitter <= 1 or self.prefill < 0:
            raise ConfigurationError(
                "the pace of a simulated tier is out of range", remedy="rate > 0, 0 <= jitter <= 1, prefill >= 0"
            )

    def first(self, *, new_tokens: int, chance: Callable[[], float]) -> Ns:
        """Request to first text; ``chance`` gives a number from 0 up to 1 at each call."""
        waited = self.queue + round(self.ttft * (1 + self.jitter * (2 * chance() - 1)))
        if self.prefill:
            waited += round(new_tokens / self.prefill * SECOND)
        return waited + (self.tail if chance() < TAIL_SHARE else 0)

    def after(self, tokens: int) -> Ns:
        """From the first token to the one that ``tokens`` came before; 0 for the first itself."""
        return round(tokens / self.rate * SECOND)


TAIL_SHARE: Final = 0.1
"""Of the replies, those that are late by ``tail``: enough for a p95 to lie among them, too few for a median."""


def read_pace(spec: Spec) -> Pace:
    """The pace that ``sim:NAME?...`` asks for: the tier's own, where the options do not say otherwise.

    A ConfigurationError says what is missing: a tier whose rate or TTFT nobody published needs it as an option.
    """
    tier = None if spec.model is None else find_tier(spec.model)
    ttft = None if tier is None or tier.ttft_ms is None else round(tier.ttft_ms.value * MS)
    p95 = None if tier is None or tier.ttft_p95_ms is None else round(tier.ttft_p95_ms.value * MS)
    rate = None if tier is None or tier.rate is None else tier.rate.value
    if "ttft" in spec.options:
        ttft, p95 = duration(spec, "ttft"), None  # another median has another tail
    if "p95" in spec.options:
        p95 = duration(spec, "p95")
    if "rate" in spec.options:
        rate = spec.number("rate", 0.0)
    if ttft is None or rate is None:
        lacking = "ttft" if ttft is None else "rate"
        raise ConfigurationError(
            f"'{spec}' has no {lacking}: nobody published it", remedy=f"Say it, for example {spec.name}?{_EXAMPLE}"
        )
    return Pace(
        ttft=ttft,
        rate=rate,
        jitter=spec.number("jitter", 0.0),
        tail=max(0, (p95 or ttft) - ttft),
        queue=duration(spec, "queue"),
        prefill=spec.number("prefill", 0.0),
    )


_EXAMPLE: Final = "ttft=240ms&rate=969"


def duration(spec: Spec, key: str) -> Ns:
    """An option such as ``240ms``, ``0.24s`` or ``240`` (ms); 0 where it is absent."""
    text = spec.options.get(key, "0")
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ConfigurationError(
            f"option {key}={text} of '{spec.name}' is not a duration", remedy=f"For example {key}=240ms or {key}=0.24s"
        )
    return round(float(found[1]) * _UNITS[found[2]])


def tokens(text: str) -> Iterator[str]:
    """``text`` in pieces of about the size that models use: words, long ones in parts, and marks by themselves.

    Joined they are the text. They stand in for a model's own, for a reply that no model tokenised.
    """
    return iter(_TOKEN.findall(text))
