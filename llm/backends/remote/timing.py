"""What is known of one exchange with a server, and how that explains the wait. Pure.

Instants are ours, taken on our clock when bytes came. Durations are the server's own, where it tells any. What it did
not spend, the network did; where it tells nothing the two cannot be told apart, and stay one. Unknown is None.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from turngap.budget.clock import Ns, milliseconds
from turngap.budget.ledger import NoteValue
from turngap.budget.marks import Span, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The server's own account of its time; each None where it does not tell."""

    load: Ns | None = None
    """Getting the model into memory first."""
    queue: Ns | None = None
    prefill: Ns | None = None
    first: Ns | None = None
    """From the request's arrival to the first token, where a server tells only the sum."""
    decode: Ns | None = None

    @property
    def before_text(self) -> Ns | None:
        """All that it spent before its first token; a server that tells of no queue is taken to have had none."""
        if self.prefill is None:
            return self.first
        return (self.load or 0) + (self.queue or 0) + self.prefill


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request and its answer, as far as it got."""

    asked: Ns
    connecting: Ns | None = None
    connected: Ns | None = None
    headers: Ns | None = None
    first_event: Ns | None = None
    first_reasoning: Ns | None = None
    first_answer: Ns | None = None
    speakable: Ns | None = None
    end: Ns | None = None
    reused: bool | None = None
    """Whether the connection had been there before; None while that is open."""
    http: str | None = None
    attempts: int = 1
    asked_tier: str | None = None
    served_tier: str | None = None
    reasoning_tokens: int | None = None
    told: Told = Told()

    @property
    def first_output(self) -> Ns | None:
        """The first token, be it a thought or an answer."""
        known = [at for at in (self.first_reasoning, self.first_answer) if at is not None]
        return min(known, default=None)

    @property
    def connect(self) -> Ns:
        """How long the request waited for a new connection."""
        if self.connecting is None or self.connected is None:
            return 0
        return self.connected - self.connecting

    @property
    def network(self) -> Ns | None:
        """Of the wait for the first token, what was not the server's; None where it tells nothing, or too much."""
        first, server = self.first_output, self.told.before_text
        if first is None or server is None:
            return None
        left = first - self.asked - server
        return left if left >= self.connect else None

    def spans(self) -> list[Span]:
        """The wait and the stream, as stretches of work that cover them without a hole."""
        return list(self._spans())

    def notes(self) -> dict[str, NoteValue]:
        """Everything above for the turn's ledger: instants in ms from the request."""
        told = self.told
        return {
            "llm_connection": None if self.reused is None else "reused" if self.reused else "new",
            "llm_http": self.http,
            "llm_attempts": self.attempts,
            "llm_asked_tier": self.asked_tier,
            "llm_served_tier": self.served_tier,
            **{
                f"llm_{name}_ms": None if at is None else milliseconds(at - self.asked)
                for name, at in (
                    ("headers", self.headers),
                    ("first_event", self.first_event),
                    ("first_reasoning", self.first_reasoning),
                    ("first_answer", self.first_answer),
                    ("first_speakable", self.speakable),
                    ("end", self.end),
                )
            },
            **{
                f"llm_{name}_ms": None if took is None else milliseconds(took)
                for name, took in (
                    ("network", self.network),
                    ("server_load", told.load),
                    ("server_queue", told.queue),
                    ("server_prefill", told.prefill),
                    ("server_first_token", told.first),
                    ("server_decode", told.decode),
                )
            },
            "llm_reasoning_tokens": self.reasoning_tokens,
        }

    def _spans(self) -> Iterator[Span]:
        first = self.first_output
        waited_until = first if first is not None else self.end
        if waited_until is None:
            return
        yield from _row(self.asked, self._wait(waited_until))
        if self.first_reasoning is not None:
            thought_until = self.first_answer if self.first_answer is not None else self.end
            if thought_until is not None and thought_until > self.first_reasoning:
                yield Span(stage=Stage.PREFILL, start=self.first_reasoning, end=thought_until, what="reasoning")
        if self.first_answer is not None and self.end is not None:
            yield Span(stage=Stage.DECODE, start=self.first_answer, end=self.end, what="decode")

    def _wait(self, until: Ns) -> list[tuple[str, Ns]]:
        """What the wait consisted of, in order. Where on the way the network took its part is not known: half there,
        half back, as in a round trip."""
        connect, told, network = min(self.connect, until - self.asked), self.told, self.network
        if network is None:
            return [("connect", connect), ("network+server", until - self.asked - connect)]
        there = (network - connect) // 2
        back = network - connect - there
        server = [("server", told.first or 0)]
        if told.prefill is not None:
            server = [("load", told.load or 0), ("queue", told.queue or 0), ("prefill", told.prefill)]
        return [("connect", connect), ("network", there), *server, ("network", back)]


def _row(at: Ns, parts: list[tuple[str, Ns]]) -> Iterator[Span]:
    for what, took in parts:
        if took > 0:
            yield Span(stage=Stage.PREFILL, start=at, end=at + took, what=what)
        at += took
