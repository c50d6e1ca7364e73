"""The websocket server: who may come in, and one session for each who does."""

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
import signal
import ssl
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server as SocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from turngap.budget.clock import SECOND, Clock
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.store.recorder import Recorder
from turngap.voice.engine import Engine
from turngap.voice.keeping import Forgetting, Keeping, Kept
from turngap.voice.models.store import find
from turngap.voice.protocols import pcm, twilio
from turngap.voice.protocols.door import ClientGone, Door
from turngap.voice.protocols.pcm_door import PcmDoor
from turngap.voice.protocols.realtime import core as realtime
from turngap.voice.protocols.realtime_door import RealtimeDoor
from turngap.voice.protocols.recorded import RecordedDoor
from turngap.voice.protocols.twilio_door import TwilioDoor
from turngap.voice.protocols.wire import Bounds, Wire
from turngap.voice.pulse import Pulse
from turngap.voice.session import Session
from turngap.voice.settings import Settings
from turngap.voice.turn import Yielding
from turngap.voice.web.pages import Pages

logger = logging.getLogger(__name__)

HEALTH: Final = "/healthz"
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
PATHS: Final = (pcm.PATH, realtime.PATH, twilio.PATH)
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
        self._pages = Pages(find_model=find)
        self._beating: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._draining = asyncio.Event()
        self._sessions_running: set[Session] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._bounds = Bounds(
            idle=round(settings.idle * SECOND),
            longest=round(settings.longest * SECOND),
            messages_hz=settings.max_rate,
        )

    def stop(self) -> None:
        """End: no new conversations, and those that run are closed (1001)."""
        self._stop.set()

    def drain(self) -> None:
        """No new conversations; end when the turns that run have ended, or after ``settings.drain`` seconds."""
        self._draining.set()
        for session in self._sessions_running:
            session.leave()

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
                ssl=_tls(settings),
            )
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen on {settings.host}:{settings.port}: {error.strerror}",
                remedy="Choose another --port, or --port 0 for a free one",
            ) from error
        async with listening:
            on_ready(self._url(listening))
            await self._over()

    async def _over(self) -> None:
        stop, drain = asyncio.create_task(self._stop.wait()), asyncio.create_task(self._drained())
        await asyncio.wait({stop, drain}, return_when=asyncio.FIRST_COMPLETED)
        for task in (stop, drain):
            task.cancel()
        await asyncio.wait({stop, drain})

    async def _drained(self) -> None:
        await self._draining.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.drain):
                await self._empty.wait()

    def _url(self, listening: SocketServer) -> str:
        port = next(iter(listening.sockets)).getsockname()[1]
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        scheme = "wss" if self._settings.tls_cert else "ws"
        return f"{scheme}://{host}:{port}{pcm.PATH}"

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer plain HTTP and refuse strangers; None lets the handshake go on."""
        address = urlsplit(request.path)
        if address.path == HEALTH:
            return _respond(HTTPStatus.OK, self._health())
        if page := self._pages.answer(address.path, request.headers.get("Host", "")):
            return page
        if address.path not in PATHS:
            return _respond(HTTPStatus.NOT_FOUND, {"error": f"no such path; try {', '.join(PATHS)} or {HEALTH}"})
        if not self._known(request.headers, parse_qs(address.query).get("token", [""])[0]):
            return _respond(HTTPStatus.UNAUTHORIZED, {"error": "token missing or wrong; send Authorization: Bearer"})
        if not self._own_origin(request.headers):
            return _respond(HTTPStatus.FORBIDDEN, {"error": "this origin may not connect; see --origins"})
        if self._draining.is_set():
            return _respond(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "the server is going down; try another one"})
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
        door = self._door(connection)
        self._empty.clear()
        session: Session | None = None
        try:
            async with asyncio.timeout(self._settings.idle):  # who says nothing at all keeps nobody else out
                await door.open()
            kept, keeping = self._keep(door, number)
            session = Session(kept, self._engine.parts(), self._engine.manner(), self._clock, keeping=keeping)
            self._sessions_running.add(session)
            if self._draining.is_set():
                session.leave()
            await session.run()
            if self._draining.is_set():
                await connection.close(1001, "the server is going down")
        except* ClientGone:
            pass
        except* TimeoutError:
            await connection.close(1001, "nothing was said for too long")
        except* StageError as failed:
            logger.exception("a stage failed outside of any turn")
            await connection.close(1011, str(failed.exceptions[0])[:120])
        finally:
            if session is not None:
                self._sessions_running.discard(session)
            if not self._sessions_running:
                self._empty.set()

    def _keep(self, door: Door, number: int) -> tuple[Door, Keeping]:
        """The door to speak through, and who keeps the turns of the conversation of this number."""
        if self._recorder is None:
            return door, Forgetting()
        if self._settings.keep != "audio":
            return door, Kept(self._recorder, number)
        recorded = RecordedDoor(door, self._clock)
        return recorded, Kept(self._recorder, number, heard=recorded.take)

    def _door(self, connection: ServerConnection) -> PcmDoor | RealtimeDoor | TwilioDoor:
        """The door that the path names."""
        assert connection.request is not None
        address = urlsplit(connection.request.path)
        wire = Wire(connection, self._clock, self._bounds)
        match address.path:
            case realtime.PATH:
                return self._realtime(wire, parse_qs(address.query))
            case twilio.PATH:
                return TwilioDoor(wire, self._clock)
            case _:
                return PcmDoor(wire, self._clock)

    def _realtime(self, wire: Wire, query: Mapping[str, list[str]]) -> RealtimeDoor:
        manner = self._engine.manner()
        protocol = realtime.Realtime(
            secrets.token_hex(8),
            model=query.get("model", ["turngap"])[0],
            instructions=manner.system,
            policies=self._engine.policy,
            # The protocol's clients drop what they have not played once they hear of a voice: there is no going on.
            yielding=Yielding.TO_WORDS if manner.yielding is Yielding.AT_ONCE else manner.yielding,
        )
        return RealtimeDoor(wire, self._clock, protocol, reports="turn" in query.get("events", []))


def _tls(settings: Settings) -> ssl.SSLContext | None:
    """Raises ConfigurationError where the certificate cannot be used."""
    if not settings.tls_cert:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key or None)
    except OSError as error:
        raise ConfigurationError(
            f"the certificate {settings.tls_cert} cannot be used: {error}", remedy="Check --tls-cert and --tls-key"
        ) from error
    return context


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
    """Let Ctrl-C end ``server`` at once, and SIGTERM once its turns have ended."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, server.stop)
    loop.add_signal_handler(signal.SIGTERM, server.drain)
