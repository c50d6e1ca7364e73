"""Responses over a websocket that stays open: what was said before is at the server, and only what is new is sent.

A *warm-up* has the server take in the dialogue so far while the user still speaks; the reply then names it and sends
the user's words alone. What is heard of a reply may be less than what was made of it, so a reply is never what the
next one goes on from; the latest warm-up is. Where the server no longer knows it, everything is sent again.

A reply that is given up does not cost the connection: each has a stream id, and what comes of others is dropped. The
provider's client would do the same, but wants an older version of the websocket library than everything else here.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, WebSocketException

from turngap.budget.clock import SECOND, Clock
from turngap.budget.errors import ConnectionFailed, StageError, StageTimeoutError
from turngap.budget.marks import Stage
from turngap.llm.backends.remote.failures import refusal, unreadable
from turngap.llm.backends.remote.line import Manners
from turngap.llm.backends.remote.timing import Exchange
from turngap.llm.protocol import Message, Role

FORGOTTEN: Final = "previous_response_not_found"
OVER: Final = ("response.completed", "response.incomplete", "response.failed", "error")
MESSAGE_LIMIT: Final = 4 * 1024 * 1024


class Socket:
    """The connection of one dialogue."""

    def __init__(self, server: str, url: str, headers: Mapping[str, str], manners: Manners, clock: Clock) -> None:
        self._server = server
        self._url = url.replace("http", "ws", 1)
        self._headers = dict(headers)
        self._manners = manners
        self._clock = clock
        self._connection: ClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._streams = 0
        self._known: tuple[tuple[Message, ...], str] | None = None
        """What the latest warm-up took in, and its id."""

    async def warm_up(self, messages: Sequence[Message], body: Mapping[str, Any]) -> None:
        """Connect, and have the server take in the dialogue before the user's latest words. Raises StageError."""
        said = tuple(messages[:-1] if messages and messages[-1].role is Role.USER else messages)
        if not any(message.role is not Role.SYSTEM for message in said):
            await self._connected(Exchange(asked=self._clock()))
            return
        if self._known is not None and self._known[0] == said:
            return
        earlier = {**body, "input": _plain(said), "generate": False}
        async with aclosing(self._exchange(earlier, Exchange(asked=self._clock()))) as events:
            async for event in events:
                if event.get("type") == "response.completed":
                    self._known = said, str(event["response"]["id"])

    async def ask(
        self, messages: Sequence[Message], body: Mapping[str, Any], exchange: Exchange
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """The events of a reply. Errors are StageErrors."""
        shorter = self._shortened(messages, body)
        forgotten = False
        async with aclosing(self._exchange(shorter, exchange)) as events:
            async for event in events:
                forgotten = event.get("type") == "error" and _code(event) == FORGOTTEN
                if not forgotten:
                    yield event
        if forgotten:
            self._known = None
            exchange.attempts += 1
            async with aclosing(self._exchange(body, exchange)) as events:
                async for event in events:
                    yield event

    async def aclose(self) -> None:
        """Close the connection."""
        connection, self._connection, self._known = self._connection, None, None
        if connection is not None:
            await connection.close()

    def _shortened(self, messages: Sequence[Message], body: Mapping[str, Any]) -> dict[str, Any]:
        """``body`` without what the server knows."""
        if self._known is None or self._connection is None:
            return dict(body)
        said, warm_up = self._known
        if tuple(messages[: len(said)]) != said or len(messages) <= len(said):
            return dict(body)
        spoken = sum(message.role is not Role.SYSTEM for message in said)
        return {**body, "input": body["input"][spoken:], "previous_response_id": warm_up}

    async def _exchange(self, body: Mapping[str, Any], exchange: Exchange) -> AsyncGenerator[Mapping[str, Any], None]:
        """Send one request and give its events; the connection is given up where it breaks."""
        connection = await self._connected(exchange)
        self._streams += 1
        stream = f"reply-{self._streams}"
        request = {key: value for key, value in body.items() if key != "stream"}
        try:
            await connection.send(json.dumps({**request, "type": "response.create", "stream_id": stream}))
            while True:
                async with asyncio.timeout(self._manners.silence / SECOND):
                    event = self._parsed(await connection.recv(), exchange)
                if event.get("stream_id", stream) != stream:
                    continue
                yield event
                if event.get("type") in OVER:
                    return
        except WebSocketException as error:
            self._connection = self._known = None
            code = "stale" if exchange.reused and exchange.first_event is None else "lost"
            raise ConnectionFailed(
                _stage(exchange), f"the connection to {self._server} was lost", remedy="Try again", code=code
            ) from error
        except TimeoutError as error:
            raise StageTimeoutError(
                _stage(exchange), f"{self._server} sent nothing for too long", remedy="Try again"
            ) from error

    async def _connected(self, exchange: Exchange) -> ClientConnection:
        async with self._connecting:
            exchange.reused = self._connection is not None
            if self._connection is None:
                exchange.connecting = self._clock()
                self._known = None
                self._connection = await self._connect()
                exchange.connected = self._clock()
            exchange.headers, exchange.http = self._clock(), "websocket"
            return self._connection

    async def _connect(self) -> ClientConnection:
        try:
            return await connect(
                self._url,
                additional_headers=self._headers,
                open_timeout=self._manners.connect / SECOND,
                close_timeout=1,
                max_size=MESSAGE_LIMIT,
                compression=None,  # pieces are small; it costs time and helps nothing
            )
        except InvalidStatus as error:
            body = error.response.body or b""
            try:
                content: object = json.loads(body)
            except ValueError:
                content = body.decode("utf-8", "replace")
            raise refusal(
                self._server, Stage.PREFILL, error.response.status_code, content, error.response.headers
            ) from error
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise ConnectionFailed(
                Stage.PREFILL,
                f"{self._server} cannot be reached",
                remedy="Check the url and the network",
                code="unreachable",
            ) from error

    def _parsed(self, received: str | bytes, exchange: Exchange) -> dict[str, Any]:
        try:
            event = json.loads(received)
        except ValueError as error:
            raise self._unreadable(exchange) from error
        if not isinstance(event, dict):
            raise self._unreadable(exchange)
        return event

    def _unreadable(self, exchange: Exchange) -> StageError:
        return unreadable(self._server, _stage(exchange), "an event that is no object")


def _stage(exchange: Exchange) -> Stage:
    return Stage.PREFILL if exchange.first_output is None else Stage.DECODE


def _code(event: Mapping[str, Any]) -> object:
    error = event.get("error")
    return event.get("code") or (error.get("code") if isinstance(error, Mapping) else None)


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [
        {"role": message.role.value, "content": message.content}
        for message in messages
        if message.role is not Role.SYSTEM
    ]
