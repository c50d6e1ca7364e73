"""A language model at a server, behind the same protocol as one in this process.

::

    openai:gpt-5.6-sol?tier=fast                     Chat Completions; ?api=responses, ?api=websocket
    anthropic:claude-haiku-4-5   cerebras:gpt-oss-120b   groq:openai/gpt-oss-120b   sambanova:...   openrouter:...
    vllm:NAME?url=http://gpu:8000/v1   llamacpp:NAME   ollama:NAME   openai-compatible:http://host:port/v1#MODEL

Keys are read from the environment when the backend is made, and kept nowhere else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from turngap.budget.clock import MS, SECOND, Clock
from turngap.budget.errors import ConfigurationError, StageError
from turngap.llm.backends.remote.bodies import BODIES, Wishes, headers, prefill_only
from turngap.llm.backends.remote.dialects import PATHS, READERS, Dialect, Wire
from turngap.llm.backends.remote.line import Line, Manners
from turngap.llm.backends.remote.reply import RemoteReply, Source, over_http, refused
from turngap.llm.backends.remote.socket import Socket
from turngap.llm.backends.remote.timing import Exchange
from turngap.llm.backends.remote.words import Words
from turngap.llm.history import parted
from turngap.llm.protocol import Conversation, Limits, Message, Urgency
from turngap.llm.spec import Spec

OPTIONS: Final = {
    *("url", "key_env", "api", "tier", "speed", "reasoning", "temperature", "max_tokens", "cache_key", "only", "sort"),
    *("prewarm", "http", "keep_alive_s", "connect_ms", "silence_s"),
}

PREWARM: Final = ("connection", "prompt", "off")


class RemoteBackend:
    """One model of one server. ``line`` is replaced by tests of other layers."""

    def __init__(self, dialect: Dialect, spec: Spec, *, environment: Mapping[str, str], clock: Clock) -> None:
        spec.reject_unknown(OPTIONS)
        self.dialect = dialect
        self.wire = _wire(dialect, spec)
        url, model = _where(dialect, spec, environment)
        self.wishes = _wishes(dialect, spec, model)
        self._key = _key(dialect, spec, environment)
        self._url = url
        self._manners = _manners(spec, url)
        self._clock = clock
        self._most = spec.integer("max_tokens", 0)
        self.prewarm = _one_of(spec, "prewarm", "prompt" if dialect.prewarms else "connection", PREWARM)
        self._line: Line | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def warm(self) -> None:
        """Have a connection, and learn whether the key is good. Errors are StageErrors."""
        await self.connect()

    async def connect(self) -> None:
        """Have a connection in waiting; does nothing where there should be one."""
        if self.line.warm:
            return
        exchange = Exchange(asked=self._clock())
        async with self.line.ask("GET", self.dialect.warm_path, exchange) as response:
            if response.status_code in (401, 403):
                raise await refused(self.line, response)
            await self.line.read_all(response)

    def converse(self) -> Conversation:
        return RemoteConversation(self, self._clock)

    def describe(self) -> dict[str, str]:
        """What was chosen; no key is in it."""
        told = {"backend": self.dialect.name, "model": self.wishes.model, "api": self.wire.value, "url": self._url}
        asked = {"tier": self.wishes.tier or self.wishes.speed, "reasoning": self.wishes.reasoning}
        return told | {name: value for name, value in asked.items() if value is not None}

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._line is not None:
            await self._line.aclose()
            self._line = None

    @property
    def line(self) -> Line:
        """Its connections, which begin with the first use."""
        if self._line is None:
            sent = headers(self.dialect, self.wishes, self._key)
            self._line = Line(self.dialect.name, self._url, sent, self._manners, self._clock)
        return self._line

    def socket(self) -> Socket | None:
        """A connection for one dialogue, where the server is spoken to in that way."""
        if self.wire is not Wire.WEBSOCKET:
            return None
        sent = headers(self.dialect, self.wishes, self._key)
        url = self._url + PATHS[self.wire]
        return Socket(self.dialect.name, url, sent, self._manners, self._clock)

    def limited(self, limits: Limits) -> Limits:
        """``limits``, within the backend's own."""
        return Limits(max_tokens=min(limits.max_tokens, self._most or limits.max_tokens), stop=limits.stop)

    def reconnect(self) -> None:
        """Replace a connection that was given up, before anybody waits for it."""
        if self.prewarm == "off" or self.line.warm or self._tasks:
            return
        self.begin(self.connect)

    def begin(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Do ``work`` beside everything else; if it fails, whoever asks next will be told."""
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _quietly(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except StageError:
        return


class RemoteConversation:
    """One dialogue. The server keeps what it keeps; nothing of it is held here but the latest reply's own text."""

    def __init__(self, backend: RemoteBackend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._before: tuple[tuple[Message, ...], RemoteReply] | None = None
        self._socket = backend.socket()
        self._prefilled: tuple[Message, ...] = ()
        self._prefilling: asyncio.Task[None] | None = None

    def reply(self, messages: Sequence[Message], *, limits: Limits, urgency: Urgency = Urgency.LIVE) -> RemoteReply:
        """As the protocol says."""
        backend = self._backend
        limits = backend.limited(limits)
        told = backend.wire is not Wire.CHAT or backend.dialect.continues is None
        body = BODIES[backend.wire](
            backend.dialect, backend.wishes, messages, limits, prediction=self._prediction(messages)
        )
        reply = RemoteReply(
            backend.dialect.name,
            self._source(messages, body),
            READERS[backend.wire],
            Words(limits.stop, opener=parted(messages)[1] if told else ""),
            self._clock,
            tier=backend.wishes.tier or backend.wishes.speed,
            ended=self._ended,
        )
        self._before = tuple(messages), reply
        return reply

    async def prepare(self, messages: Sequence[Message], *, urgency: Urgency = Urgency.DRAFT) -> None:
        """Have a connection; at a server of our own have the prompt prefilled as well, once for each.

        It is only begun here: a reply must not wait for what was done on suspicion. What goes wrong is for the reply
        to tell.
        """
        backend = self._backend
        if self._socket is not None:
            if backend.prewarm != "off" and (self._prefilling is None or self._prefilling.done()):
                asked = BODIES[backend.wire](backend.dialect, backend.wishes, messages, Limits())
                self._prefilling = backend.begin(partial(self._socket.warm_up, tuple(messages), asked))
        elif backend.prewarm != "prompt" or not messages or tuple(messages) == self._prefilled:
            backend.reconnect()
        elif self._prefilling is None or self._prefilling.done():
            self._prefilled = tuple(messages)
            self._prefilling = backend.begin(partial(self._prefill, messages))

    async def _prefill(self, messages: Sequence[Message]) -> None:
        backend = self._backend
        asked = BODIES[backend.wire](backend.dialect, backend.wishes, messages, Limits(max_tokens=1))
        body = prefill_only(backend.dialect, backend.wire, asked)
        async with backend.line.ask("POST", PATHS[backend.wire], Exchange(asked=self._clock()), body) as response:
            await backend.line.read_all(response)
        if response.status_code == 400:
            backend.prewarm = "connection"  # it does not know how; what it knows is asked for again at the reply

    async def aclose(self) -> None:
        self._before = None
        if self._socket is not None:
            await self._socket.aclose()

    def _source(self, messages: Sequence[Message], body: Mapping[str, Any]) -> Source:
        backend = self._backend
        if self._socket is not None:
            return partial(self._socket.ask, tuple(messages), body)
        return partial(over_http, backend.line, PATHS[backend.wire], body, lines=backend.wire is Wire.OLLAMA)

    def _prediction(self, messages: Sequence[Message]) -> str:
        """The draft of a reply to other words of the same turn is what this one will probably say."""
        if self._before is None or not self._backend.dialect.knows_prediction:
            return ""
        asked, reply = self._before
        return reply.text if asked[:-1] == tuple(messages[:-1]) and len(messages) > 1 else ""

    async def _ended(self, reply: RemoteReply) -> None:
        if self._socket is None:
            self._backend.reconnect()


def _wire(dialect: Dialect, spec: Spec) -> Wire:
    return Wire(_one_of(spec, "api", dialect.wires[0].value, tuple(wire.value for wire in dialect.wires)))


def _where(dialect: Dialect, spec: Spec, environment: Mapping[str, str]) -> tuple[str, str]:
    """The server's url and the model's name."""
    model = spec.model or ""
    url = spec.options.get("url", "")
    if dialect.name == "openai-compatible":
        url, _, model = model.partition("#")
    elif not url and (told := environment.get(dialect.url_env, "")):
        url = told.rstrip("/") + dialect.url_suffix
    url = url or dialect.url
    url = url if "://" in url or not url else f"http://{url}"
    if not model or not url.startswith(("http://", "https://")):
        form = "openai-compatible:URL#MODEL" if dialect.name == "openai-compatible" else f"{dialect.name}:MODEL"
        raise ConfigurationError(f"'{spec}' names no model or no url", remedy=f"Write {form}")
    return url.rstrip("/"), model


def _key(dialect: Dialect, spec: Spec, environment: Mapping[str, str]) -> str:
    name = spec.options.get("key_env", dialect.key_env)
    key = environment.get(name, "").strip()
    if not key and dialect.key_needed:
        raise ConfigurationError(f"'{dialect.name}' needs a key", remedy=f"Set the environment variable {name}")
    return key


def _wishes(dialect: Dialect, spec: Spec, model: str) -> Wishes:
    options = spec.options
    tier, speed = options.get("tier"), options.get("speed")
    if tier is not None and tier not in dialect.tiers:
        known = f"It has: {', '.join(dialect.tiers)}" if dialect.tiers else "It has no tiers"
        raise ConfigurationError(f"'{dialect.name}' has no tier '{tier}'", remedy=known)
    if tier == "ultrafast" and dialect.name == "openai" and options.get("api", "chat") == "chat":
        raise ConfigurationError("the ultrafast tier needs responses", remedy="Add &api=websocket or &api=responses")
    if speed is not None and dialect.name != "anthropic":
        raise ConfigurationError(f"'{dialect.name}' has no speed", remedy="Choose with tier=")
    if "temperature" in options and dialect.name == "anthropic":
        raise ConfigurationError("'anthropic' has no temperature any more", remedy="Leave out temperature=")
    return Wishes(
        model=model,
        tier=tier,
        speed=speed,
        reasoning=options.get("reasoning"),
        temperature=spec.number("temperature", 0) if "temperature" in options else None,
        cache_key=options.get("cache_key") if dialect.knows_cache_key else None,
        only=options.get("only"),
        sort=options.get("sort"),
    )


def _manners(spec: Spec, url: str) -> Manners:
    return Manners(
        http=spec.integer("http", 2 if url.startswith("https://") else 1),
        keep_alive=round(spec.number("keep_alive_s", 120) * SECOND),
        connect=round(spec.number("connect_ms", 2000) * MS),
        silence=round(spec.number("silence_s", 30) * SECOND),
    )


def _one_of(spec: Spec, key: str, default: str, allowed: tuple[str, ...]) -> str:
    value = spec.options.get(key, default)
    if value not in allowed:
        raise ConfigurationError(f"'{spec.name}' cannot have {key}={value}", remedy=f"One of: {', '.join(allowed)}")
    return value
