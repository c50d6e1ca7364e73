"""What an emulator is told to do. Pure."""

from dataclasses import dataclass
from typing import Final

from turngap.budget.clock import MS, SECOND, Ns

TEXT: Final = "Sure, one large latte with oat milk. That will be four fifty, please."

REFUSALS: Final = ("400", "401", "403", "404", "410", "429", "429-spent", "498", "500", "503", "529")
FAILURES: Final = (
    "",
    *REFUSALS,
    "in-stream",  # an error after a success
    "stall-before",  # headers, and nothing else
    "stall-after",  # one token, and nothing else
    "truncate",  # the stream ends like a whole one, without its end
    "cut",  # the connection is gone in the middle
    "garbage",
    "page",  # a web page, as from a proxy or a login
    "drop-reused",  # the connection closes when a second request comes
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """``ttft`` from a whole request to the first token, ``rate`` in tokens per second after it. A word is a token."""

    text: str = TEXT
    ttft: Ns = 0
    rate: float = 100_000.0
    queue: Ns = 0
    """Of ``ttft``, what the server says that the request waited."""
    load: Ns = 0
    """Of ``ttft``, what it took to load the model, where a server tells that."""
    thoughts: int = 0
    """Tokens of reasoning before the answer."""
    cached: int = 0
    per_event: int = 1
    """Tokens in one event."""
    failure: str = ""
    retry_after: float | None = None
    """Seconds, for the failures that carry it."""
    tier: str | None = None
    """The tier that is served, whatever was asked; None serves what was asked."""
    key: str = "test-key"

    @property
    def tokens(self) -> tuple[str, ...]:
        """The answer's tokens, each with the space before it."""
        words = self.text.split(" ")
        return tuple(word if at == 0 else f" {word}" for at, word in enumerate(words))

    @property
    def prefill(self) -> Ns:
        """What of ``ttft`` is neither queue nor load."""
        return self.ttft - self.queue - self.load

    def due(self, token: int) -> Ns:
        """When a token, thoughts counted, leaves after the request came."""
        return self.ttft + round(token * SECOND / self.rate)

    @property
    def decode(self) -> Ns:
        """From the first token to the last."""
        return self.due(self.thoughts + len(self.tokens) - 1) - self.ttft


def seconds(duration: Ns) -> float:
    return duration / SECOND


def ms(duration: Ns) -> float:
    return duration / MS
