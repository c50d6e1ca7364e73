"""One websocket connection as the doors use it: bounded in every direction.

Whoever takes nothing, says nothing, or says too much is sent away with the code that says why; the door then sees that
its client is gone.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from turngap.budget.clock import SECOND, Clock, Ns
from turngap.voice.protocols.allowed import Allowed
from turngap.voice.protocols.door import ClientGone

SLOW_S: Final = 10.0
"""A client that does not take what it is sent for so long is sent away: audio this late is of no use to it."""

MOST_ERRORS: Final = 20
"""A client that keeps sending what it may not send is not going to learn it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a client may do: be idle, stay, send."""

    idle: Ns = 600 * SECOND
    """Without a message."""
    longest: Ns = 4 * 3600 * SECOND
    messages_hz: float = 500.0
    """Messages in a second: audio in pieces of 2 ms is still allowed."""
    burst: int = 2_000
    """And so many at once, as after a stall of the network."""


class Wire:
    """Messages in and out. Every call raises ClientGone once the client has left or was sent away."""

    def __init__(self, connection: ServerConnection, clock: Clock, bounds: Bounds) -> None:
        self._connection = connection
        self._clock = clock
        self._bounds = bounds
        self._since = self._heard_at = clock()
        self._allowed = Allowed(rate_hz=bounds.messages_hz, burst=bounds.burst)
        self._errors = 0

    async def receive(self) -> str | bytes:
        """The next message. May be cancelled, and called again."""
        await self._check(self._clock())
        try:
            message = await self._connection.recv()
        except ConnectionClosed as closed:
            raise ClientGone from closed
        now = self._heard_at = self._clock()
        if not self._allowed.one_more(now):
            await self.leave(1008, "more messages than allowed")
        return message

    async def send(self, message: str | bytes) -> None:
        try:
            async with asyncio.timeout(SLOW_S):
                await self._connection.send(message)
        except ConnectionClosed as closed:
            raise ClientGone from closed
        except TimeoutError as error:
            self._connection.transport.abort()
            raise ClientGone from error

    async def refused(self) -> None:
        """A message could not be read, and the client was told."""
        self._errors += 1
        if self._errors >= MOST_ERRORS:
            await self.leave(1008, "too many messages that cannot be read")

    async def leave(self, code: int, reason: str) -> None:
        """Send the client away. Raises ClientGone."""
        await self._connection.close(code, reason)
        raise ClientGone

    async def _check(self, now: Ns) -> None:
        if now - self._heard_at > self._bounds.idle:
            await self.leave(1001, "nothing was said for too long")
        if now - self._since > self._bounds.longest:
            await self.leave(1001, "the conversation has lasted as long as one may")
