"""The language model as a fake: says what it is told to, when it is told to. For tests, demos, and overhead.

::

    scripted                                            "Sure, coming right up." at no cost
    scripted?reply=One.|Two.                            these replies in turn, then from the start
    scripted?prefill_ms=35&token_ms=12                  with the pace of a model
    scripted?fail=before  ?fail=after                   an error before the first token, or after it
    scripted?stall=before ?stall=after                  silence for good, until the reply is closed

Asked to go on from an opener, it says its reply without the opener where it begins with it, else the whole reply.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Final

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Span, Stage
from turngap.llm.history import parted
from turngap.llm.protocol import Delta, Limits, Message, Urgency, Usage
from turngap.llm.spec import Spec

Sleep = Callable[[Ns], Awaitable[None]]
"""Lets a duration pass."""

REPLY: Final = "Sure, coming right up."
OPTIONS: Final = {"reply", "prefill_ms", "token_ms", "fail", "stall"}
WHEN: Final = ("", "before", "after")


async def sleep_on_the_loop(duration: Ns) -> None:
    """The default pace: the event loop's own time."""
    await asyncio.sleep(duration / SECOND)


class ScriptedBackend:
    """Replies from a script, word by word. A word counts as a token."""

    def __init__(
        self,
        replies: Sequence[str] = (REPLY,),
        *,
        clock: Clock,
        prefill: Ns = 0,
        token: Ns = 0,
        fail: str = "",
        stall: str = "",
        sleep: Sleep = sleep_on_the_loop,
    ) -> None:
        self.replies = tuple(replies)
        self.clock = clock
        self.prefill = prefill
        self.token = token
        self.fail = fail
        self.stall = stall
        self.sleep = sleep
        self.asked: list[tuple[Message, ...]] = []
        """The messages of every reply that was begun, for tests to look at."""
        self.urgencies: list[Urgency] = []
        """How soon each of them was wanted when it was begun."""
        self.prepared: list[tuple[Message, ...]] = []

    @classmethod
    def from_spec(cls, spec: Spec, *, clock: Clock) -> "ScriptedBackend":
        """Read ``scripted?...``; a ConfigurationError says what is wrong with it."""
        spec.reject_unknown(OPTIONS)
        for key in ("fail", "stall"):
            if spec.options.get(key, "") not in WHEN:
                raise ConfigurationError(f"'{spec}' cannot {key} so", remedy=f"Write {key}=before or {key}=after")
        return cls(
            spec.options.get("reply", REPLY).split("|"),
            clock=clock,
            prefill=round(spec.number("prefill_ms", 0) * MS),
            token=round(spec.number("token_ms", 0) * MS),
            fail=spec.options.get("fail", ""),
            stall=spec.options.get("stall", ""),
        )

    async def warm(self) -> None:
        """Nothing to load."""

    def converse(self) -> "ScriptedConversation":
        return ScriptedConversation(self)

    def describe(self) -> dict[str, str]:
        return {"backend": "scripted"}

    async def aclose(self) -> None:
        """Nothing to free."""


class ScriptedConversation:
    """Goes through the script by itself, whatever it is asked; remembers what it has seen, as a cache would."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self._backend = backend
        self._turn = 0
        self.seen: list[str] = []

    def reply(self, messages: Sequence[Message], *, limits: Limits, urgency: Urgency = Urgency.LIVE) -> "ScriptedReply":
        text = self._backend.replies[self._turn % len(self._backend.replies)]
        self._turn += 1
        self._backend.asked.append(tuple(messages))
        self._backend.urgencies.append(urgency)
        return ScriptedReply(self._backend, self, messages, _after(parted(messages)[1], text), limits, urgency)

    async def prepare(self, messages: Sequence[Message], *, urgency: Urgency = Urgency.DRAFT) -> None:
        self._backend.prepared.append(tuple(messages))
        self.seen = _words(messages)

    async def aclose(self) -> None:
        self.seen = []


class ScriptedReply:
    """One reply of the script."""

    def __init__(
        self,
        backend: ScriptedBackend,
        conversation: ScriptedConversation,
        messages: Sequence[Message],
        text: str,
        limits: Limits,
        urgency: Urgency,
    ) -> None:
        prompt = _words(messages)
        cached = next((i for i, (a, b) in enumerate(zip(prompt, conversation.seen, strict=False)) if a != b), None)
        if cached is None:
            cached = min(len(prompt), len(conversation.seen))
        conversation.seen = prompt
        self.usage = Usage(
            prompt_tokens=len(prompt),
            cached_tokens=cached,
            prefilled_tokens=len(prompt) - cached,
            completion_tokens=0,
            dropped_messages=0,
        )
        self.urgency = urgency
        """How soon it is wanted, for tests to look at; a script is not the faster for it."""
        self._backend = backend
        self._deltas = self._speak(text, limits)

    def hasten(self) -> None:
        self.urgency = Urgency.LIVE

    def __aiter__(self) -> "ScriptedReply":
        return self

    async def __anext__(self) -> Delta:
        return await anext(self._deltas)

    async def aclose(self) -> None:
        await self._deltas.aclose()

    async def _speak(self, text: str, limits: Limits) -> AsyncGenerator[Delta, None]:
        backend = self._backend
        await self._spend(Stage.PREFILL, backend.prefill)
        await self._misbehave("before", Stage.PREFILL)
        finish = "stop"
        for count, token in enumerate(_tokens(_until(text, limits.stop)), start=1):
            if count > limits.max_tokens:
                finish = "length"
                break
            if count > 1:
                await self._misbehave("after", Stage.DECODE)
                await self._spend(Stage.DECODE, backend.token)
            self.usage.completion_tokens = count
            yield Delta(text=token, at=backend.clock())
        self.usage.finish = finish

    async def _spend(self, stage: Stage, cost: Ns) -> None:
        start = self._backend.clock()
        if cost:
            await self._backend.sleep(cost)
        self.usage.spans.append(Span(stage=stage, start=start, end=self._backend.clock(), what=str(stage)))

    async def _misbehave(self, when: str, stage: Stage) -> None:
        if self._backend.stall == when:
            await asyncio.Event().wait()
        if self._backend.fail == when:
            raise StageError(stage, "the scripted model fails, as it was told to", remedy="Leave out fail=")


def _words(messages: Sequence[Message]) -> list[str]:
    return [word for message in messages for word in (f"{message.role}:", *message.content.split())]


def _after(opener: str, text: str) -> str:
    """What of the script's ``text`` is left to say once ``opener`` was said, with the space that joins them."""
    rest = text.removeprefix(opener.strip())
    if opener[-1:].isspace():
        return rest.lstrip()
    return f" {rest}" if opener and rest == text and rest[:1].isalnum() else rest


def _tokens(text: str) -> Iterator[str]:
    """Words, each with the white space before it, as models have them."""
    return iter(re.findall(r"\s*\S+", text))


def _until(text: str, stops: Sequence[str]) -> str:
    return text[: min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=len(text))]
