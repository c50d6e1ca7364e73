"""The line to a server: a websocket, with its errors translated, and the health answer beside it."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from turngap.budget.errors import TurngapError

PATH = "/v1/pcm"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class LineError(TurngapError):
    """The server could not be reached, or it hung up in the middle of the conversation."""


class Line(Protocol):
    """Messages both ways: audio as bytes, the rest as text. Iteration ends when the server has hung up."""

    async def send(self, message: bytes | str) -> None: ...

    def messages(self) -> AsyncGenerator[bytes | str, None]: ...


class WebSocketLine:
    """A :class:`Line` over an open websocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, message: bytes | str) -> None:
        try:
            await self._connection.send(message)
        except ConnectionClosed as error:
            raise LineError(f"the server hung up: {error}") from error

    async def messages(self) -> AsyncGenerator[bytes | str, None]:
        try:
            async for message in self._connection:
                yield message
        except ConnectionClosed as error:
            raise LineError(f"the server hung up: {error}") from error


@asynccontextmanager
async def dial(url: str, *, token: str | None = None) -> AsyncIterator[WebSocketLine]:
    """An open line to ``url``, closed on the way out. Raises LineError."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        # No compression: PCM does not shrink, and deflating it costs time inside the gap that is measured.
        connection = await connect(
            url, compression=None, additional_headers=headers, proxy=None if is_loopback(url) else True, close_timeout=5
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
        raise LineError(
            f"no conversation at {url}: {error}", remedy="Is the server running, and is it ready?"
        ) from error
    try:
        yield WebSocketLine(connection)
    finally:
        await connection.close()


async def health(url: str) -> dict[str, Any] | None:
    """The health answer of the server behind a websocket's address; None if it gives none (yet)."""
    return await asyncio.to_thread(_health, url)


def is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in LOOPBACK


def complete(url: str) -> str:
    """The address with the raw PCM path added where only a host was given."""
    parts = urlsplit(url if "://" in url else f"ws://{url}")
    return urlunsplit(parts._replace(path=parts.path if parts.path.strip("/") else PATH))


def _health(url: str) -> dict[str, Any] | None:
    parts = urlsplit(url)
    scheme = "https" if parts.scheme == "wss" else "http"
    proxies = urllib.request.ProxyHandler({} if is_loopback(url) else None)
    address = urlunsplit((scheme, parts.netloc, "/healthz", "", ""))
    try:
        with urllib.request.build_opener(proxies).open(address, timeout=2) as answer:
            body = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return None
    return body if isinstance(body, dict) else None
