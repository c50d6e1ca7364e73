"""One reply of a server, read as it comes: a shell without decisions.

A task reads, so that the instants are those of the network, and not those of a reader who is busy speaking. It ends
when the reply does, or is closed.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import httpx2

from turngap.budget.clock import Clock
from turngap.budget.errors import ConnectionFailed, StageError
from turngap.budget.marks import Stage
from turngap.llm.backends.remote.failures import broken_off, cut_short, refusal, unreadable
from turngap.llm.backends.remote.frames import Events, Lines, Unreadable
from turngap.llm.backends.remote.line import Line
from turngap.llm.backends.remote.news import News, Reader
from turngap.llm.backends.remote.timing import Exchange
from turngap.llm.backends.remote.words import Words
from turngap.llm.clause import Clauses
from turngap.llm.protocol import Delta, Usage

Source = Callable[[Exchange], AsyncGenerator[Mapping[str, Any], None]]
"""Makes the request and gives the events of its answer; it writes into the exchange what it learns."""


class RemoteReply:
    """As the protocol says. ``words`` is what of the text may be heard; ``ended`` is told when nothing more comes."""

    def __init__(
        self,
        server: str,
        source: Source,
        read: Reader,
        words: Words,
        clock: Clock,
        *,
        tier: str | None,
        ended: Callable[["RemoteReply"], Awaitable[None]],
    ) -> None:
        self.usage = Usage(elsewhere=True)
        self.exchange = Exchange(asked=clock(), asked_tier=tier)
        self.text = ""
        """Of the reply, what has come so far, with what is not to be heard."""
        self.id: str | None = None
        self._server = server
        self._source = source
        self._read = read
        self._words = words
        self._clock = clock
        self._ended = ended
        self._clauses = Clauses()
        self._came: asyncio.Queue[Delta | StageError | None] = asyncio.Queue()
        self._reading: asyncio.Task[None] | None = None
        self._closed = False

    def hasten(self) -> None:
        """A server serves as fast as its tier does."""

    def __aiter__(self) -> "RemoteReply":
        return self

    async def __anext__(self) -> Delta:
        if self._closed:
            raise StopAsyncIteration
        if self._reading is None:
            self.exchange.asked = self._clock()
            self._reading = asyncio.create_task(self._run())
        came = await self._came.get()
        if isinstance(came, Delta):
            return came
        self._closed = True
        if came is None:
            raise StopAsyncIteration
        raise came

    async def aclose(self) -> None:
        self._closed = True
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _run(self) -> None:
        error: StageError | None = None
        try:
            await self._follow()
        except StageError as failed:
            error = failed
        finally:
            self._settle()
            self._came.put_nowait(error)
            await self._ended(self)

    async def _follow(self) -> None:
        """Read to the end; once more where a kept connection turns out to be dead before anything was heard on it."""
        try:
            await self._hear()
        except ConnectionFailed as error:
            if error.code != "stale":
                raise
            self.exchange.attempts += 1
            await self._hear()

    async def _hear(self) -> None:
        over = False
        async with aclosing(self._source(self.exchange)) as events:
            async for event in events:
                over = self._take(self._read(event)) or over
                if self._words.over:
                    self.usage.finish = "stop"
                    return
        if not over:
            raise cut_short(self._server, self._stage)
        self._give(self._words.end())

    def _take(self, news: News) -> bool:
        """Write down what came; whether it was the last of the reply."""
        at, exchange = self._clock(), self.exchange
        if exchange.first_event is None:
            exchange.first_event = at
        if news.failure is not None:
            raise broken_off(self._server, self._stage, news.failure)
        self._count(news)
        if news.reasoning and exchange.first_output is None:
            exchange.first_reasoning = at
        if news.text:
            if exchange.first_answer is None:
                exchange.first_answer = at
            self.text += news.text
            self._give(self._words.feed(news.text))
        return news.last

    @property
    def _stage(self) -> Stage:
        return Stage.PREFILL if self.exchange.first_output is None else Stage.DECODE

    def _give(self, text: str) -> None:
        if not text:
            return
        at = self._clock()
        if self.exchange.speakable is None and any(self._clauses.feed(text)):
            self.exchange.speakable = at
        self._came.put_nowait(Delta(text=text, at=at))

    def _count(self, news: News) -> None:
        usage, exchange = self.usage, self.exchange
        for key in ("prompt_tokens", "cached_tokens", "completion_tokens", "finish"):
            if (value := getattr(news, key)) is not None:
                setattr(usage, key, value)
        if usage.prompt_tokens is not None and usage.cached_tokens is not None:
            usage.prefilled_tokens = max(0, usage.prompt_tokens - usage.cached_tokens)
        if news.reasoning_tokens is not None:
            exchange.reasoning_tokens = news.reasoning_tokens
        exchange.served_tier = news.tier or exchange.served_tier
        exchange.told = news.told or exchange.told
        self.id = news.id or self.id

    def _settle(self) -> None:
        """Nothing more comes: explain where the time went."""
        self.exchange.end = self._clock()
        if self.exchange.speakable is None and self.usage.finish is not None and self.exchange.first_answer is not None:
            self.exchange.speakable = self.exchange.end  # a reply that is one short clause
        self.usage.spans[:] = self.exchange.spans()
        self.usage.notes.update(self.exchange.notes())


async def over_http(
    line: Line, path: str, body: Mapping[str, Any], exchange: Exchange, *, lines: bool = False
) -> AsyncGenerator[Mapping[str, Any], None]:
    """The events of the answer to ``body``, each as soon as it is complete. Errors are StageErrors."""
    async with line.ask("POST", path, exchange, body) as response:
        if response.status_code != 200:
            raise await refused(line, response)
        frames = Lines() if lines else Events()
        try:
            async with aclosing(line.read(response)) as reading:
                async for received in reading:
                    for frame in frames.feed(received):
                        if not frame.done:
                            yield frame.content
        except Unreadable as error:
            stage = Stage.PREFILL if exchange.first_output is None else Stage.DECODE
            raise unreadable(line.server, stage, str(error)) from error


async def refused(line: Line, response: httpx2.Response) -> StageError:
    """What an answer that is no success means."""
    text = await line.read_all(response)
    try:
        body: object = json.loads(text)
    except ValueError:
        body = text.decode("utf-8", "replace")
    return refusal(line.server, Stage.PREFILL, response.status_code, body, response.headers)
