"""An emulator on a socket: HTTP/1.1, or HTTP/2 without TLS for who says so at once.

::

    async with Emulator("groq", Pace(ttft=80 * MS, rate=500)) as server:
        ... server.url ...   server.asked[-1].body ...

Every request remembers on which connection it came, and whether its client stopped listening before the end.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from turngap.budget.clock import SECOND, Clock, monotonic
from turngap.llm.emulators.asked import Asked, Cut
from turngap.llm.emulators.http2 import talk
from turngap.llm.emulators.pace import Pace
from turngap.llm.emulators.service import Answer, answer

LATE = 8
"""Tokens that are overdue and leave together, before something else gets its turn."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\n"


@dataclass(slots=True)
class Emulator:
    """A server of one flavour; ``pace`` may be changed between requests."""

    flavour: str
    pace: Pace = field(default_factory=Pace)
    clock: Clock = monotonic
    root: str = "/v1"
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def __aenter__(self) -> "Emulator":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        while self._open:  # noqa: ASYNC110  -- only at the end of a test, and for a moment
            await asyncio.sleep(0.001)
        await self._server.wait_closed()

    @property
    def host(self) -> str:
        """Where it is, as ``http://host:port``."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def url(self) -> str:
        """Where it is, with the path that its chat lies under."""
        return self.host + self.root

    @property
    def replies(self) -> list[Asked]:
        """The requests that were no mere greetings."""
        return [one for one in self.asked if one.method == "POST"]

    def drop_connections(self) -> None:
        """Close every connection from this side, as a server does that had enough of waiting."""
        for writer in list(self._open):
            writer.close()

    async def play(self, asked: Asked, write: Callable[[bytes], Any], given: Answer) -> AsyncIterator[None]:
        """Write the answer as its pace says; what is due is written in one piece. A step for each piece."""
        began, pace = self.clock(), self.pace
        asked.came = began
        pending, tokens = b"", 0

        def flush() -> None:
            nonlocal pending, tokens
            if tokens:
                asked.last_left = self.clock()
                asked.first_left = asked.first_left or asked.last_left
            write(pending)
            asked.sent += len(pending)
            pending, tokens = b"", 0

        async for due, content in _each(given):
            if due is not None:
                if pace.failure == "stall-before" or (pace.failure == "stall-after" and due > pace.thoughts):
                    write(pending)
                    await asyncio.Event().wait()
                wait = began + pace.due(due) - self.clock()
                if wait > 0:
                    if pending:
                        flush()
                        yield
                    await asyncio.sleep((began + pace.due(due) - self.clock()) / SECOND)
                if due > pace.thoughts + 1 and pace.failure in ("truncate", "cut", "garbage"):
                    write(pending + (b"data: {not json\n\n" if pace.failure == "garbage" else b""))
                    yield
                    if pace.failure == "cut":
                        raise Cut
                    return
                elif tokens >= LATE:
                    flush()
                    yield
                    await asyncio.sleep(0)
                tokens += 1
            pending += content
        flush()
        yield

    def judge(self, asked: Asked) -> Answer:
        """What is answered."""
        self.asked.append(asked)
        return answer(self.flavour, self.pace, asked.method, asked.path, asked.headers, asked.raw)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._open.add(writer)
        try:
            await self._talk(number, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, Cut):
            writer.transport.abort()
        finally:
            self._open.discard(writer)
            writer.close()

    async def _talk(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = 0
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head == PREFACE:
                return await talk(self, number, reader, writer, head)
            count += 1
            if count > 1 and self.pace.failure == "drop-reused":
                raise Cut
            asked = await _request(number, head, reader)
            given = self.judge(asked)
            _begin(writer, given)
            await self._write(asked, given, reader, writer)

    async def _write(
        self, asked: Asked, given: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        def write(content: bytes) -> None:
            if content:
                writer.write(b"%x\r\n%s\r\n" % (len(content), content))

        async def everything() -> None:
            async for _ in self.play(asked, write, given):
                await writer.drain()

        # A client that goes away is seen by its end of the stream, not by writing to it.
        leaving = asyncio.create_task(_gone(reader))
        playing = asyncio.create_task(everything())
        try:
            await asyncio.wait([leaving, playing], return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                asked.given_up = True
                raise ConnectionResetError
            playing.result()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        finally:
            for task in (leaving, playing):
                task.cancel()
            await asyncio.wait([leaving, playing])


async def _gone(reader: asyncio.StreamReader) -> None:
    """Wait until the other side has closed; clients send nothing more before the answer has ended."""
    # Reading would take what the next request begins with.
    while not reader.at_eof() and reader.exception() is None:  # noqa: ASYNC110
        await asyncio.sleep(0.002)


async def _each(given: Answer) -> AsyncIterator[tuple[int | None, bytes]]:
    for item in given.items:
        yield item


async def _request(number: int, head: bytes, reader: asyncio.StreamReader) -> Asked:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, version = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(number, method, path, headers, raw, version)


def _begin(writer: asyncio.StreamWriter, given: Answer) -> None:
    lines = [f"HTTP/1.1 {given.status} Emulated", f"content-type: {given.kind}", "transfer-encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in given.headers]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
