"""The connections to one server: kept for long, warmed when they will be wanted, and told about.

The clients of every provider let go of an idle connection after 5 s, which is shorter than most turns, and hide up to
two repetitions in what they report as one request. Here a connection is kept for two minutes, nothing is repeated in
silence, and each exchange learns whether its connection was new. A reply that is not wanted any more ends its stream:
with HTTP/1.1 that costs the connection, with HTTP/2 it does not, and there the server is told to stop.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from turngap.budget.clock import SECOND, Clock, Ns
from turngap.budget.errors import ConnectionFailed, StageError, StageTimeoutError
from turngap.budget.marks import Stage
from turngap.llm.backends.remote.timing import Exchange

KEEP_ALIVE: Final[Ns] = 120 * SECOND
"""People think for longer than 5 s. Past two minutes, load balancers have dropped it without a word."""

CONNECT: Final[Ns] = 2 * SECOND
SILENCE: Final[Ns] = 30 * SECOND
"""For callers without a deadline of their own; a turn has one, and it is shorter."""

BODY_LIMIT: Final = 64 * 1024
"""Of an answer that is no stream, as much as is read."""

CANCEL: Final = 0x8
"""HTTP/2's word for a stream that is no longer needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How connections are made and kept. ``http`` is 1, or 2 where the server agrees (over TLS) or must (without)."""

    http: int = 2
    keep_alive: Ns = KEEP_ALIVE
    connect: Ns = CONNECT
    silence: Ns = SILENCE
    verify: ssl.SSLContext | bool = True


class Line:
    """Connections to ``url``; ``headers`` go with every request, and into no log."""

    def __init__(self, server: str, url: str, headers: Mapping[str, str], manners: Manners, clock: Clock) -> None:
        self.server = server
        self.last_used: Ns | None = None
        """When a connection was last left in a state to be used again; None while there is none such."""
        self.keep_alive = manners.keep_alive
        self._clock = clock
        plain = url.startswith("http://")
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"user-agent": "turngap", "accept-encoding": "identity", **headers},
            http1=not (plain and manners.http == 2),
            http2=manners.http == 2,
            verify=manners.verify and not plain,  # to read the certificates takes 50 ms
            limits=httpx2.Limits(keepalive_expiry=manners.keep_alive / SECOND),
            timeout=httpx2.Timeout(manners.silence / SECOND, connect=manners.connect / SECOND),
        )

    @property
    def warm(self) -> bool:
        """Whether a connection should be there; the server may have closed it all the same."""
        return self.last_used is not None and self._clock() - self.last_used < self.keep_alive * 3 // 4

    @asynccontextmanager
    async def ask(
        self, method: str, path: str, exchange: Exchange, body: Mapping[str, Any] | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request and give its answer as soon as the headers are there. Errors are StageErrors, inside too."""
        exchange.connecting = exchange.connected = exchange.reused = None
        request = self._client.build_request(
            method, path, json=body, extensions={"trace": _Watch(exchange, self._clock).note}
        )
        try:
            response = await self._client.send(request, stream=True)
            exchange.headers = self._clock()
            exchange.reused = exchange.connecting is None
            exchange.http = response.http_version
            self.last_used = None if exchange.http != "HTTP/2" else self._clock()
            try:
                yield response
            finally:
                await self._let_go(response)
        except httpx2.HTTPError as error:
            raise translated(self.server, exchange, error) from error

    async def aclose(self) -> None:
        """Close every connection."""
        self.last_used = None
        await self._client.aclose()

    async def read(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """The answer's bytes, as they come; read to the end, a connection can be used again."""
        async for received in response.aiter_raw():
            yield received
        response.extensions["whole"] = True

    async def read_all(self, response: httpx2.Response, limit: int = BODY_LIMIT) -> bytes:
        """The answer's bytes, or its first ``limit``."""
        whole = b""
        async with aclosing(self.read(response)) as reading:
            async for received in reading:
                whole += received
                if len(whole) > limit:
                    break
        return whole

    async def _let_go(self, response: httpx2.Response) -> None:
        if response.http_version == "HTTP/2":
            await _reset(response)
        await response.aclose()
        if response.http_version == "HTTP/2" or "whole" in response.extensions:
            self.last_used = self._clock()


class _Watch:
    """Listens to what the client does for one request."""

    def __init__(self, exchange: Exchange, clock: Clock) -> None:
        self._exchange = exchange
        self._clock = clock

    async def note(self, event: str, _: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.started":
            self._exchange.connecting = self._clock()
        elif event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._exchange.connected = self._clock()


async def _reset(response: httpx2.Response) -> None:
    """Tell the server that the rest of a stream is not wanted; the client itself only stops listening, so that the
    server would go on, and be paid for it. It has no public way: we reach for what may be gone in another version."""
    if "whole" in response.extensions:
        return
    wrapped: Any = response.stream
    for name in ("_stream", "_httpcore_stream", "_stream"):
        wrapped = getattr(wrapped, name, wrapped)
    connection, stream_id = getattr(wrapped, "_connection", None), getattr(wrapped, "_stream_id", None)
    state, write = getattr(connection, "_h2_state", None), getattr(connection, "_write_outgoing_data", None)
    if state is None or write is None or stream_id is None:
        return
    try:
        state.reset_stream(stream_id, CANCEL)
        await write(wrapped._request)
    except Exception:  # the stream or the connection ended meanwhile, which is what was wanted
        return


def translated(server: str, exchange: Exchange, error: httpx2.HTTPError) -> StageError:
    """The one place where the client's errors become ours."""
    stage = Stage.PREFILL if exchange.first_output is None else Stage.DECODE
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.PoolTimeout):
        return ConnectionFailed(
            stage, f"{server} cannot be reached", remedy="Check the url and the network", code="unreachable"
        )
    if isinstance(error, httpx2.TimeoutException):
        return StageTimeoutError(
            stage, f"{server} sent nothing for too long", remedy="Try again, or choose another tier"
        )
    code = "stale" if exchange.headers is None and exchange.connecting is None else "lost"
    return ConnectionFailed(stage, f"the connection to {server} was lost", remedy="Try again", code=code)
