"""A tier that cannot be reached from here: real text, with the timing that the tier is said to have.

::

    sim:groq-gpt-oss-120b                       the timing of the catalogue (llm/tiers), a script's words
    sim?ttft=240ms&rate=969                     any timing
    sim:openai-standard?from=local              the words of another backend
    sim?ttft=98ms&rate=500&p95=217ms&jitter=0.1&queue=20ms&prefill=20000&seed=3

Only the timing is simulated, and only as well as its source knew it: everything made of it says so. A backend whose
words come later than the tier would have said them makes the simulation late, and ``usage.late`` tells by how much.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from random import Random
from typing import Final

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.budget.marks import Span, Stage
from turngap.llm.backends.scripted import ScriptedBackend
from turngap.llm.protocol import Backend, Conversation, Delta, Limits, Message, Urgency, Usage
from turngap.llm.spec import Spec
from turngap.llm.tiers.catalogue import find_tier
from turngap.llm.tiers.pace import OPTIONS, Pace, read_pace, tokens

Until = Callable[[Ns], Awaitable[None]]
"""Lets time pass up to an instant, and returns at once where it has passed."""

SCRIPT: Final = (
    "Sure, I can help you with that. We're open from eight in the morning until six in the evening.",
    "Of course. That's one large latte with oat milk, and it will be ready in about five minutes.",
    "Good question. The short answer is yes, and I can send you the details by email if you like.",
)

FINE: Final[Ns] = 2 * MS
"""The event loop rounds its timers up to whole milliseconds; the rest of a wait is spent asking the clock."""


def until(clock: Clock) -> Until:
    """Waiting that is exact to some microseconds, as far as the event loop is not busy."""

    async def wait(due: Ns) -> None:
        while (left := due - clock()) > 0:
            if left > FINE:
                await asyncio.sleep((left - FINE) / SECOND)
                continue
            before = clock()
            await asyncio.sleep(0)
            if clock() == before:  # a loop on which time stands still unless it is slept away
                await asyncio.sleep(left / SECOND)

    return wait


class SimulatedBackend:
    """Another backend's words at a tier's pace."""

    def __init__(
        self, words: Backend, pace: Pace, *, clock: Clock, label: str, seed: int = 0, wait: Until | None = None
    ) -> None:
        self.pace = pace
        self.clock = clock
        self.wait = wait or until(clock)
        self.chance = Random(seed).random
        self._words = words
        self._label = label

    @classmethod
    def from_spec(cls, spec: Spec, *, make: Callable[[str], Backend], clock: Clock) -> "SimulatedBackend":
        """Read ``sim:NAME?...``; ``make`` builds the backend that ``from`` names."""
        spec.reject_unknown(OPTIONS | {"from", "reply", "seed"})
        source = spec.options.get("from", "")
        replies = spec.options["reply"].split("|") if "reply" in spec.options else SCRIPT
        words: Backend = make(source) if source else ScriptedBackend(replies, clock=clock)
        return cls(words, read_pace(spec), clock=clock, label=str(spec), seed=spec.integer("seed", 0))

    async def warm(self) -> None:
        await self._words.warm()

    def converse(self) -> "SimulatedConversation":
        return SimulatedConversation(self, self._words.converse())

    def describe(self) -> dict[str, str]:
        """Says ``simulated``, with what; and where the tier is the catalogue's, how far its figures can be trusted."""
        spec = Spec.parse(self._label)
        grades = {} if spec.model is None else {"grades": find_tier(spec.model).grades}
        words = self._words.describe()
        return {
            "backend": "sim",
            "simulated": self._label,
            **grades,
            "ttft_ms": f"{self.pace.ttft / MS:g}",
            "rate": f"{self.pace.rate:g}",
            "words": words.get("model", words["backend"]),
        }

    async def aclose(self) -> None:
        await self._words.aclose()


class SimulatedConversation:
    """A conversation with the backend whose words are used; what it keeps warm, the tier is taken to keep as well."""

    def __init__(self, backend: SimulatedBackend, words: Conversation) -> None:
        self._backend = backend
        self._words = words

    def reply(
        self, messages: Sequence[Message], *, limits: Limits, urgency: Urgency = Urgency.LIVE
    ) -> "SimulatedReply":
        return SimulatedReply(self._backend, self._words, messages, limits, urgency)

    async def prepare(self, messages: Sequence[Message], *, urgency: Urgency = Urgency.DRAFT) -> None:
        await self._words.prepare(messages, urgency=urgency)

    async def aclose(self) -> None:
        await self._words.aclose()


class SimulatedReply:
    """One reply, held back to the instants at which the tier would have said it."""

    def __init__(
        self,
        backend: SimulatedBackend,
        words: Conversation,
        messages: Sequence[Message],
        limits: Limits,
        urgency: Urgency,
    ) -> None:
        # A script counts words as tokens and would stop too late; its pieces are counted here instead.
        self._inner = words.reply(messages, limits=limits, urgency=urgency)
        self._backend = backend
        self._most = limits.max_tokens
        self._asked_at = backend.clock()
        inner = self._inner.usage
        self.usage = Usage(
            prompt_tokens=inner.prompt_tokens,
            cached_tokens=inner.cached_tokens,
            prefilled_tokens=inner.prefilled_tokens,
            completion_tokens=0,
            simulated=True,
            late=0,
        )
        fresh = _characters(messages) // 4 if inner.prefilled_tokens is None else inner.prefilled_tokens
        self._first_at = self._asked_at + backend.pace.first(new_tokens=fresh, chance=backend.chance)
        self._deltas = self._speak()

    def hasten(self) -> None:
        self._inner.hasten()

    def __aiter__(self) -> "SimulatedReply":
        return self

    async def __anext__(self) -> Delta:
        return await anext(self._deltas)

    async def aclose(self) -> None:
        await self._deltas.aclose()
        await self._inner.aclose()

    async def _speak(self) -> AsyncGenerator[Delta, None]:
        backend, count = self._backend, 0
        start = self._asked_at
        async with aclosing(self._inner):
            async for delta in self._inner:
                for token in tokens(delta.text):
                    if count == self._most:
                        self.usage.finish = "length"
                        return
                    due = self._first_at + backend.pace.after(count)
                    self._note_late(backend.clock() - due)
                    await backend.wait(due)
                    count += 1
                    self.usage.completion_tokens = count
                    stage = Stage.PREFILL if count == 1 else Stage.DECODE
                    start = self._work(stage, start)
                    yield Delta(text=token, at=start)
        self._take_over()

    def _note_late(self, late: Ns) -> None:
        if self.usage.completion_tokens == 0 or late > MS:  # the timers of a loop are a millisecond late at times
            self.usage.late = max(self.usage.late or 0, late)

    def _work(self, stage: Stage, start: Ns) -> Ns:
        end = self._backend.clock()
        spans = self.usage.spans
        if spans and spans[-1].stage is stage:
            start = spans.pop().start
        spans.append(Span(stage=stage, start=start, end=end, what="simulated"))
        return end

    def _take_over(self) -> None:
        """What the other backend knows of the prompt and of the reply's end."""
        inner = self._inner.usage
        self.usage.finish = inner.finish
        self.usage.prompt_tokens, self.usage.cached_tokens = inner.prompt_tokens, inner.cached_tokens
        self.usage.prefilled_tokens = inner.prefilled_tokens
        self.usage.dropped_messages = inner.dropped_messages


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)
