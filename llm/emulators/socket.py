"""The emulator of responses over a websocket. It remembers, for as long as a connection lives, what it was told."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from turngap.budget.clock import SECOND, Clock, monotonic
from turngap.llm.emulators.others import response_events
from turngap.llm.emulators.pace import Pace


@dataclass(slots=True)
class SocketEmulator:
    """Use it as a context; ``pace`` may be changed between requests."""

    pace: Pace = field(default_factory=Pace)
    clock: Clock = monotonic
    asked: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    forgets: bool = False
    """Whether it knows nothing of what it was told before."""
    _server: Server | None = None
    _made: int = 0

    async def __aenter__(self) -> "SocketEmulator":
        self._server = await serve(self._talk, "127.0.0.1", 0, process_request=self._admit)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}/v1"

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {self.pace.key}":
            error = {"error": {"message": "Incorrect API key", "type": "x", "code": "invalid_api_key", "param": None}}
            return connection.respond(HTTPStatus.UNAUTHORIZED, json.dumps(error))
        if "upgrade" not in request.headers:
            return connection.respond(HTTPStatus.OK, json.dumps({"object": "list", "data": []}))
        return None

    async def _talk(self, connection: ServerConnection) -> None:
        self.connections += 1
        known: set[str] = set()
        try:
            async for text in connection:
                body = json.loads(text)
                self.asked.append(body)
                await self._answer(connection, body, known)
        except ConnectionClosed:
            return

    async def _answer(self, connection: ServerConnection, body: dict[str, Any], known: set[str]) -> None:
        before = body.get("previous_response_id")
        stream = {"stream_id": body["stream_id"]} if "stream_id" in body else {}
        if before is not None and (self.forgets or before not in known):
            told = {"code": "previous_response_not_found", "message": "not found", "param": "previous_response_id"}
            await connection.send(json.dumps({"type": "error", "sequence_number": 0, **told, **stream}))
            return
        self._made += 1
        known.add(f"resp_{self._made}")
        began, pace = self.clock(), self.pace
        for due, event in response_events(replace(pace), body, self._made):
            if due is not None:
                if pace.failure == "stall-before":
                    await connection.wait_closed()
                    return
                await asyncio.sleep(max(0, began + pace.due(due) - self.clock()) / SECOND)
                if pace.failure == "cut" and due > pace.thoughts + 1:
                    connection.transport.abort()
                    return
            await connection.send(json.dumps({**event, **stream}))
