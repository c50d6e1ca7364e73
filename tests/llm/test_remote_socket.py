"""Responses over a websocket that stays open, against its emulator."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from turngap.budget.clock import MS, monotonic
from turngap.budget.errors import ConnectionFailed, RequestRefused, StageError, StageTimeoutError
from turngap.llm.backends.remote.backend import RemoteBackend, RemoteConversation
from turngap.llm.backends.remote.dialects import OPENAI
from turngap.llm.backends.remote.reply import RemoteReply
from turngap.llm.emulators.pace import TEXT, Pace
from turngap.llm.emulators.socket import SocketEmulator
from turngap.llm.protocol import Limits, Message, Role
from turngap.llm.spec import Spec

pytestmark = pytest.mark.socket

SAID = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hello"), Message(Role.ASSISTANT, "Hi!"))
ASK = (*SAID, Message(Role.USER, "A latte please"))


class Talk(NamedTuple):
    conversation: RemoteConversation
    server: SocketEmulator


@asynccontextmanager
async def talking(pace: Pace | None = None) -> AsyncGenerator[Talk, None]:
    async with SocketEmulator(pace or Pace()) as server:
        spec = Spec("openai", "m", {"url": server.url, "api": "websocket", "tier": "ultrafast", "silence_s": "0.3"})
        backend = RemoteBackend(OPENAI, spec, environment={"OPENAI_API_KEY": "test-key"}, clock=monotonic)
        conversation = backend.converse()
        assert isinstance(conversation, RemoteConversation)
        try:
            yield Talk(conversation, server)
        finally:
            await conversation.aclose()
            await backend.aclose()


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


async def read(conversation: RemoteConversation, messages: tuple[Message, ...] = ASK) -> tuple[str, RemoteReply]:
    reply = conversation.reply(messages, limits=Limits())
    return "".join([delta.text async for delta in reply]), reply


async def warmed(conversation: RemoteConversation, server: SocketEmulator) -> None:
    await conversation.prepare((*SAID, Message(Role.USER, "A lat")))
    await asyncio.sleep(0.1)
    assert [one.get("generate") for one in server.asked] == [False]


def test_after_a_warm_up_only_the_users_words_are_sent() -> None:
    async def talk() -> None:
        async with talking(Pace(ttft=30 * MS, rate=500, thoughts=1)) as (conversation, server):
            await warmed(conversation, server)
            text, reply = await read(conversation)
            assert text == TEXT
            asked = server.asked[-1]
            assert asked["type"] == "response.create"
            assert asked["previous_response_id"] == "resp_1"
            assert asked["input"] == [{"role": "user", "content": "A latte please"}]
            assert (asked["service_tier"], asked["instructions"]) == ("ultrafast", "Be brief.")
            assert not {"stream", "background"} & set(asked)
            notes = reply.usage.notes
            assert (notes["llm_connection"], notes["llm_http"], notes["llm_attempts"]) == ("reused", "websocket", 1)
            assert notes["llm_served_tier"] == "ultrafast"
            assert reply.usage.completion_tokens == len(TEXT.split()) + 1
            assert server.connections == 1

    run(talk())


def test_what_the_server_forgot_is_sent_again() -> None:
    async def talk() -> None:
        async with talking() as (conversation, server):
            await warmed(conversation, server)
            server.forgets = True
            text, reply = await read(conversation)
            assert text == TEXT
            assert reply.exchange.attempts == 2
            assert len(server.asked[-1]["input"]) == 3

    run(talk())


def test_a_history_that_went_another_way_is_sent_whole() -> None:
    async def talk() -> None:
        async with talking() as (conversation, server):
            await warmed(conversation, server)
            other = (*SAID[:2], Message(Role.ASSISTANT, "Hi"), ASK[-1])
            await read(conversation, other)
            assert "previous_response_id" not in server.asked[-1]
            assert [one["content"] for one in server.asked[-1]["input"]] == ["Hello", "Hi", "A latte please"]

    run(talk())


def test_a_barge_in_keeps_the_connection_and_hears_nothing_of_the_reply_before() -> None:
    async def talk() -> None:
        async with talking(Pace(rate=100)) as (conversation, server):
            interrupted = conversation.reply(ASK, limits=Limits())
            await anext(interrupted)
            await interrupted.aclose()
            server.pace = Pace(text="Something else.")
            text, reply = await read(conversation)
            assert text == "Something else."
            assert reply.exchange.reused is True
            assert server.connections == 1

    run(talk())


def test_failures_are_told_apart() -> None:
    async def talk() -> None:
        async with talking(Pace(rate=500)) as (conversation, server):
            for failure, kind in (("stall-before", StageTimeoutError), ("cut", ConnectionFailed)):
                server.pace = replace(server.pace, failure=failure)
                with pytest.raises(kind):
                    await read(conversation)
                await conversation.aclose()
            server.pace = replace(server.pace, failure="in-stream")
            with pytest.raises(StageError) as failed:
                await read(conversation)
            assert "quoting" not in str(failed.value)
            await conversation.aclose()
            server.pace = Pace(key="another")
            with pytest.raises(RequestRefused):
                await read(conversation)

    run(talk())


def test_the_providers_own_client_reads_the_emulator() -> None:
    openai = pytest.importorskip("openai")

    async def talk() -> None:
        async with (
            SocketEmulator() as server,
            openai.AsyncOpenAI(api_key="test-key", base_url=server.url) as client,
            client.responses.connect() as connection,
        ):
            await connection.send({"type": "response.create", "model": "m", "input": "A latte please"})
            text = ""
            async for event in connection:
                text += event.delta if event.type == "response.output_text.delta" else ""
                if event.type == "response.completed":
                    break
            assert text == TEXT

    run(talk())
