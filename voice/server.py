"""The websocket server: who may come in, and one session for each who does."""

import asyncio
import hmac
import json
import logging
import signal
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server as SocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from turngap.budget.clock import Clock
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.store.recorder import Recorder
from turngap.voice.engine import Engine
from turngap.voice.keeping import Forgetting, Keeping, Kept
from turngap.voice.protocols import pcm
from turngap.voice.protocols.door import ClientGone, Door
from turngap.voice.protocols.pcm_door import PcmDoor
from turngap.voice.protocols.recorded import RecordedDoor
from turngap.voice.pulse import Pulse
from turngap.voice.session import Session
from turngap.voice.settings import Settings

logger = logging.getLogger(__name__)

HEALTH: Final = "/healthz"
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
LARGEST_MESSAGE: Final = 1 << 20
"""Ten seconds of 48 kHz stereo in one message are more than any client needs."""


class Server:
    """Serves conversations until :meth:`stop`. The engine must be warm: the first turn is as fast as the tenth."""

    def __init__(self, settings: Settings, engine: Engine, clock: Clock, *, recorder: Recorder | None = None) -> None:
        if settings.host not in LOOPBACK and not settings.token:
            raise ConfigurationError(
                f"listening on {settings.host} without a token would let anybody in",
                remedy="Set TURNGAP_TOKEN (or --token), or listen on 127.0.0.1",
            )
        self._settings = settings
        self._engine = engine
        self._clock = clock
        self._recorder = recorder
        self._sessions = 0
        self._served = 0
        self._pulse = Pulse(clock)
        self._beating: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """End: no new conversations, and those that run are closed (1001)."""
        self._stop.set()

    async def run(self, on_ready: Callable[[str], None]) -> None:
        """Listen until :meth:`stop`; ``on_ready`` is called with the URL once the port is open."""
        settings = self._settings
        try:
            listening = await serve(
                self._converse,
                settings.host,
                settings.port,
                process_request=self._admit,
                compression=None,  # PCM does not compress, and deflate costs time that the turn needs
                max_size=LARGEST_MESSAGE,
            )
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen on {settings.host}:{settings.port}: {error.strerror}",
                remedy="Choose another --port, or --port 0 for a free one",
            ) from error
        async with listening:
            on_ready(self._url(listening))
            await self._stop.wait()

    def _url(self, listening: SocketServer) -> str:
        port = next(iter(listening.sockets)).getsockname()[1]
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        return f"ws://{host}:{port}{pcm.PATH}"

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer plain HTTP and refuse strangers; None lets the handshake go on."""
        address = urlsplit(request.path)
        if address.path == HEALTH:
            return _respond(HTTPStatus.OK, self._health())
        if address.path != pcm.PATH:
            return _respond(HTTPStatus.NOT_FOUND, {"error": f"no such path; try {pcm.PATH} or {HEALTH}"})
        if not self._known(request.headers, parse_qs(address.query).get("token", [""])[0]):
            return _respond(HTTPStatus.UNAUTHORIZED, {"error": "token missing or wrong; send Authorization: Bearer"})
        if not self._own_origin(request.headers):
            return _respond(HTTPStatus.FORBIDDEN, {"error": "this origin may not connect; see --origins"})
        return None

    def _health(self) -> dict[str, object]:
        return {
            "status": "ok",
            "sessions": self._sessions,
            "served": self._served,
            "loop_late_ms": self._pulse.describe(),
            "run": None if self._recorder is None else {"id": self._recorder.run, "lost": self._recorder.lost},
            "config": self._engine.describe(),
        }

    def _known(self, headers: Headers, from_query: str) -> bool:
        token = self._settings.token
        if not token:
            return True
        shown = headers.get("Authorization", "").removeprefix("Bearer ").strip() or from_query
        return hmac.compare_digest(shown.encode(), token.encode())

    def _own_origin(self, headers: Headers) -> bool:
        """A browser tells which page connects; no page but our own may reach a server on somebody's machine."""
        origin = headers.get("Origin")
        if origin is None:
            return True
        allowed = [name.strip() for name in self._settings.origins.split(",") if name.strip()]
        return origin in allowed or urlsplit(origin).netloc == headers.get("Host")

    async def _converse(self, connection: ServerConnection) -> None:
        if self._sessions >= self._settings.max_sessions:
            await connection.close(1013, f"all {self._settings.max_sessions} conversations are taken; try again later")
            return
        self._sessions += 1
        self._served += 1
        if self._beating is None:
            self._beating = asyncio.create_task(self._pulse.beat())
        try:
            await self._hold(connection, self._served)
        finally:
            self._sessions -= 1
            if not self._sessions:
                self._beating.cancel()
                self._beating = None

    async def _hold(self, connection: ServerConnection, number: int) -> None:
        door = PcmDoor(connection, self._clock)
        try:
            await door.open()
            kept, keeping = self._keep(door, number)
            await Session(kept, self._engine.parts(), self._engine.manner(), self._clock, keeping=keeping).run()
        except* ClientGone:
            pass
        except* StageError as failed:
            logger.exception("a stage failed outside of any turn")
            await connection.close(1011, str(failed.exceptions[0])[:120])

    def _keep(self, door: PcmDoor, number: int) -> tuple[Door, Keeping]:
        """The door to speak through, and who keeps the turns of the conversation of this number."""
        if self._recorder is None:
            return door, Forgetting()
        if self._settings.keep != "audio":
            return door, Kept(self._recorder, number)
        recorded = RecordedDoor(door, self._clock)
        return recorded, Kept(self._recorder, number, heard=recorded.take)


def _respond(status: HTTPStatus, body: dict[str, object]) -> Response:
    payload = (json.dumps(body) + "\n").encode()
    headers = Headers(
        [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(payload))),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ]
    )
    return Response(status.value, status.phrase, headers, payload)


def stop_on_signals(server: Server) -> None:
    """Let Ctrl-C and SIGTERM end ``server`` cleanly."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
