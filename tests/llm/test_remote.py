"""Every backend at a server, against the emulator of its own wire format, on real sockets."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import pytest

from turngap.budget.clock import MS, SECOND, monotonic
from turngap.budget.errors import (
    ConnectionFailed,
    RemoteError,
    RequestRefused,
    ServiceBusy,
    ServiceFailed,
    StageError,
    StageTimeoutError,
)
from turngap.budget.marks import Stage
from turngap.llm.backends.remote.backend import RemoteBackend
from turngap.llm.backends.remote.dialects import DIALECTS, Wire
from turngap.llm.backends.remote.reply import RemoteReply
from turngap.llm.emulators.pace import TEXT, Pace
from turngap.llm.emulators.server import Emulator
from turngap.llm.protocol import Limits, Message, Role
from turngap.llm.spec import Spec

pytestmark = pytest.mark.socket

Result = TypeVar("Result")

SECRET = "sk-a-key-nobody-may-see"
ASK = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "An unheard-of latte, please"))
EVERY = [
    (name, wire.value) for name, dialect in DIALECTS.items() for wire in dialect.wires if wire is not Wire.WEBSOCKET
]
every = pytest.mark.parametrize(("name", "api"), EVERY)
both = pytest.mark.parametrize("http", ["1", "2"])


class Pair(NamedTuple):
    backend: RemoteBackend
    server: Emulator


@asynccontextmanager
async def pair(name: str, api: str, pace: Pace | None = None, **options: str) -> AsyncGenerator[Pair, None]:
    root = "" if name in ("anthropic", "ollama") else "/v1"
    async with Emulator(name, replace(pace or Pace(), key=SECRET), root=root) as server:
        backend = connected(name, api, server.url, **options)
        try:
            yield Pair(backend, server)
        finally:
            await backend.aclose()


def connected(name: str, api: str, url: str, **options: str) -> RemoteBackend:
    given = {"api": api, **options}
    spec = Spec(name, f"{url}#a-model", given) if name == "openai-compatible" else Spec(name, "a-model", given)
    if name != "openai-compatible":
        spec = Spec(name, spec.model, {"url": url, **given})
    return RemoteBackend(DIALECTS[name], spec, environment={DIALECTS[name].key_env: SECRET}, clock=monotonic)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(asyncio.wait_for(work, 20))


async def read(backend: RemoteBackend, messages: tuple[Message, ...] = ASK) -> tuple[str, RemoteReply]:
    reply = backend.converse().reply(messages, limits=Limits())
    assert isinstance(reply, RemoteReply)
    return "".join([delta.text async for delta in reply]), reply


async def failing(backend: RemoteBackend) -> StageError:
    with pytest.raises(StageError) as failed:
        await read(backend)
    return failed.value


@every
def test_it_asks_as_the_server_wants_it(name: str, api: str) -> None:
    async def talk() -> None:
        async with pair(name, api) as (backend, server):
            text, reply = await read(backend)
            assert text == TEXT
            asked = server.replies[0]
            assert asked.body["model"] == "a-model"
            assert asked.body["stream"] is True
            limit = {
                "ollama": asked.body.get("options", {}).get("num_predict"),
                "responses": asked.body.get("max_output_tokens"),
                "messages": asked.body.get("max_tokens"),
                "chat": asked.body.get(DIALECTS[name].max_tokens),
            }
            assert limit[api] == 60
            key = asked.headers.get("x-api-key") if name == "anthropic" else asked.headers.get("authorization")
            assert key in (SECRET, f"Bearer {SECRET}")
            assert reply.usage.finish == "stop"
            assert reply.usage.completion_tokens == len(TEXT.split())
            assert reply.usage.prompt_tokens is not None

    run(talk())


@every
def test_it_goes_on_from_an_opener_once(name: str, api: str) -> None:
    async def talk() -> None:
        async with pair(name, api) as (backend, server):
            text, _ = await read(backend, (*ASK, Message(Role.ASSISTANT, "Sure,")))
            body = server.replies[0].body
            if DIALECTS[name].continues is None:
                assert text == TEXT.removeprefix("Sure,")
                assert "Sure," in str(body.get("instructions") or body.get("system") or body["messages"][0])
            else:  # this one has the words in its mouth already, and is believed
                assert body["messages"][-1] == {"role": "assistant", "content": "Sure,"}
                assert text == TEXT

    run(talk())


TOLD: Mapping[str, Mapping[str, float]] = {
    "cerebras": {"server_queue": 20, "server_prefill": 40, "server_decode": 70},
    "groq": {"server_queue": 20, "server_prefill": 40, "server_decode": 70},
    "vllm": {"server_queue": 20, "server_prefill": 40, "server_decode": 70},
    "sambanova": {"server_first_token": 60, "server_decode": 70},
    "llamacpp": {"server_prefill": 40, "server_decode": 70},
    "ollama": {"server_prefill": 40, "server_decode": 70},
}
"""What each tells of a reply that waits 20 ms, is prefilled in 40 and takes 14 more tokens at 200 a second."""


@every
def test_it_tells_where_the_time_went(name: str, api: str) -> None:
    async def talk() -> None:
        pace = Pace(ttft=60 * MS, rate=200, queue=20 * MS, thoughts=2, cached=3)
        async with pair(name, api, pace) as (backend, _):
            await backend.warm()
            text, reply = await read(backend)
            notes, exchange = reply.usage.notes, reply.exchange
            assert text == TEXT
            told = {f"llm_{key}_ms": value for key, value in TOLD.get(name, {}).items()}
            for key in ("queue", "prefill", "first_token", "decode"):
                assert notes[f"llm_server_{key}_ms"] == told.get(f"llm_server_{key}_ms"), key
            assert notes["llm_connection"] == "reused"
            assert notes["llm_attempts"] == 1
            order = [exchange.headers, exchange.first_event, exchange.first_output, exchange.first_answer]
            order += [exchange.speakable, exchange.end]
            known = [at for at in order if at is not None]
            assert len(known) == len(order)
            assert known == sorted(known)
            if name not in ("openai", "openai-compatible") or api == "responses":
                assert exchange.first_reasoning is not None
            assert known[2] - exchange.asked >= 60 * MS
            assert (notes["llm_network_ms"] is None) == (not told)
            assert reply.usage.cached_tokens == 3
            spans = [span for span in reply.usage.spans if span.stage is Stage.PREFILL]
            assert spans[0].start == exchange.asked
            assert [a.end for a in spans[:-1]] == [b.start for b in spans[1:]]
            assert spans[-1].end == exchange.first_answer

    run(talk())


REFUSED = [
    ("400", RequestRefused, False),
    ("401", RequestRefused, False),
    ("403", RequestRefused, False),
    ("404", RequestRefused, False),
    ("410", RequestRefused, False),
    ("429", ServiceBusy, True),
    ("429-spent", RequestRefused, False),
    ("498", ServiceBusy, True),
    ("500", ServiceFailed, True),
    ("503", ServiceBusy, True),
    ("529", ServiceBusy, True),
]


@every
def test_every_refusal_says_whose_fault_it_is_and_nothing_of_the_prompt(
    name: str, api: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def talk() -> None:
        async with pair(name, api) as (backend, server):
            for failure, kind, retryable in REFUSED:
                server.pace = replace(server.pace, failure=failure, retry_after=2.5 if failure == "429" else None)
                error = await failing(backend)
                if failure == "429-spent" and name == "ollama":
                    continue  # which has no codes
                assert type(error) is kind, (failure, error)
                assert isinstance(error, RemoteError)
                assert error.retryable is retryable
                assert error.remedy
                assert error.retry_after == (2_500 * MS if failure == "429" else None)
                for hidden in (SECRET, "unheard-of", "quoting"):
                    assert hidden not in str(error)
                assert "unheard-of" in error.detail

    with caplog.at_level(logging.INFO):
        run(talk())
    assert "unheard-of" not in caplog.text
    assert SECRET not in caplog.text


@every
def test_a_wrong_key_is_known_before_anybody_speaks(name: str, api: str) -> None:
    async def talk() -> None:
        async with pair(name, api) as (backend, server):
            server.pace = replace(server.pace, key="another")
            with pytest.raises(RequestRefused) as refused:
                await backend.warm()
            assert refused.value.status == 401
            assert SECRET not in str(refused.value)

    if DIALECTS[name].key_needed:
        run(talk())


@every
@both
def test_a_stream_that_breaks_is_told_from_one_that_ends(name: str, api: str, http: str) -> None:
    async def talk() -> None:
        async with pair(name, api, Pace(rate=500), http=http, silence_s="0.2") as (backend, server):
            found: dict[str, tuple[type, Stage, str]] = {}
            for failure in ("in-stream", "stall-before", "stall-after", "truncate", "cut", "garbage", "page"):
                server.pace = replace(server.pace, failure=failure)
                error = await failing(backend)
                found[failure] = type(error), error.stage, getattr(error, "code", "")
                assert "quoting" not in str(error)
                assert error.remedy
            assert found["in-stream"][0] in (ServiceBusy, ServiceFailed)
            assert found["stall-before"][:2] == (StageTimeoutError, Stage.PREFILL)
            assert found["stall-after"][:2] == (StageTimeoutError, Stage.DECODE)
            assert found["truncate"] == (ServiceFailed, Stage.DECODE, "truncated")
            assert found["cut"] == (ConnectionFailed, Stage.DECODE, "lost")
            assert found["garbage"] == (ServiceFailed, Stage.DECODE, "garbage")
            assert found["page"] == (ServiceFailed, Stage.PREFILL, "garbage")

    run(talk())


@every
def test_a_kept_connection_that_died_costs_one_more_attempt_and_says_so(name: str, api: str) -> None:
    async def talk() -> None:
        async with pair(name, api, Pace(failure="drop-reused")) as (backend, server):
            await backend.warm()
            text, reply = await read(backend)
            assert text == TEXT
            assert reply.usage.notes["llm_attempts"] == 2
            assert reply.usage.notes["llm_connection"] == "new"
            assert server.connections == 2

    run(talk())


def test_nobody_at_home_is_the_networks_fault() -> None:
    async def talk() -> None:
        backend = connected("vllm", "chat", "http://127.0.0.1:9/v1")
        assert type(await failing(backend)) is ConnectionFailed
        await backend.aclose()

    run(talk())


@every
@both
def test_after_idling_and_after_a_barge_in_the_connection_is_warm(name: str, api: str, http: str) -> None:
    async def talk() -> None:
        async with pair(name, api, Pace(rate=5), http=http, prewarm="connection") as (backend, server):
            await backend.warm()
            conversation = backend.converse()
            interrupted = conversation.reply(ASK, limits=Limits())
            await anext(interrupted)
            await interrupted.aclose()
            await interrupted.aclose()
            await conversation.prepare(ASK)  # the user, who barged in, speaks
            for _ in range(200):
                if backend.line.warm and server.asked[1].given_up:
                    break
                await asyncio.sleep(0.01)
            assert server.asked[1].given_up, "the server goes on, and is paid for it"
            server.pace = replace(server.pace, rate=10_000)
            _, reply = await read(backend)
            assert reply.exchange.reused is True
            # At the socket: with HTTP/2 all of it on one connection; else another one was there before it was wanted.
            assert server.connections == (1 if http == "2" else 2)
            assert server.asked[-1].connection == server.connections
            assert reply.exchange.connect == 0

    run(talk())


def test_idle_for_longer_than_the_clients_of_the_providers_allow() -> None:
    async def talk(**options: str) -> tuple[bool | None, int]:
        async with pair("groq", "chat", None, **options) as (backend, server):
            await read(backend)
            await asyncio.sleep(0.3)
            _, reply = await read(backend)
            return reply.exchange.reused, server.connections

    assert run(talk()) == (True, 1)
    assert run(talk(keep_alive_s="0.1")) == (False, 2)  # as theirs, of 5 s, are after 6


def test_a_prompt_is_prefilled_where_the_server_is_ours() -> None:
    async def talk() -> None:
        async with pair("llamacpp", "chat") as (backend, server):
            conversation = backend.converse()
            await conversation.prepare(ASK)
            await asyncio.sleep(0.05)
            await conversation.prepare(ASK)
            await asyncio.sleep(0.05)
            assert [one.body["n_predict"] for one in server.replies] == [0]
            assert server.replies[0].body["messages"][-1]["content"] == ASK[-1].content

    run(talk())


def test_asked_and_served_tier_are_told_apart() -> None:
    async def talk() -> None:
        async with pair("openai", "responses", Pace(tier="default"), tier="ultrafast") as (backend, server):
            _, reply = await read(backend)
            assert server.replies[0].body["service_tier"] == "ultrafast"
            notes = reply.usage.notes
            assert (notes["llm_asked_tier"], notes["llm_served_tier"]) == ("ultrafast", "default")

    run(talk())


def test_a_draft_of_the_same_turn_becomes_a_prediction() -> None:
    async def talk() -> None:
        async with pair("openai", "chat") as (backend, server):
            conversation = backend.converse()
            async for _ in conversation.reply(ASK, limits=Limits()):
                pass
            longer = (ASK[0], Message(Role.USER, f"{ASK[1].content}, and a scone"))
            async for _ in conversation.reply(longer, limits=Limits()):
                pass
            assert "prediction" not in server.replies[0].body
            assert server.replies[1].body["prediction"] == {"type": "content", "content": TEXT}

    run(talk())


def test_a_stop_ends_the_reply_where_the_server_knows_none() -> None:
    async def talk() -> None:
        async with pair("openai", "responses", Pace(rate=20)) as (backend, server):
            reply = backend.converse().reply(ASK, limits=Limits(stop=("That",)))
            assert "".join([delta.text async for delta in reply]).strip() == "Sure, one large latte with oat milk."
            assert reply.usage.finish == "stop"
            await asyncio.sleep(0.05)
            assert server.asked[0].given_up

    run(talk())


def test_a_slow_reader_does_not_bend_the_times() -> None:
    async def talk() -> None:
        async with pair("groq", "chat", Pace(ttft=20 * MS, rate=200)) as (backend, _):
            reply = backend.converse().reply(ASK, limits=Limits())
            first = await anext(reply)
            await asyncio.sleep(0.3)
            rest = [delta.at async for delta in reply]
            assert rest[-1] - first.at < 0.2 * SECOND

    run(talk())
