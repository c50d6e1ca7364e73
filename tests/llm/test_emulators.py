"""The emulators, read by the providers' own clients: so that a format is not only our idea of it."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from turngap.budget.clock import MS
from turngap.llm.emulators.pace import TEXT, Pace
from turngap.llm.emulators.server import Emulator

pytestmark = pytest.mark.socket

MESSAGES: list[Any] = [{"role": "user", "content": "A latte please"}]
PACE = Pace(ttft=30 * MS, rate=1000, queue=10 * MS, thoughts=2, cached=1)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_openais_client_reads_a_chat() -> None:
    openai = pytest.importorskip("openai")

    async def talk() -> None:
        async with (
            Emulator("openai", PACE) as server,
            openai.AsyncOpenAI(api_key="test-key", base_url=server.url, max_retries=0) as client,
        ):
            stream = await client.chat.completions.create(
                model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}, service_tier="fast"
            )
            chunks = [chunk async for chunk in stream]
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            assert text == TEXT
            assert chunks[-1].usage.completion_tokens == len(TEXT.split()) + 2
            assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 1
            assert chunks[0].service_tier == "fast"
            await refuses(client.chat.completions.create(model="m", messages=MESSAGES, max_tokens=5), openai, 400)
            server.pace = replace(server.pace, failure="in-stream")
            with pytest.raises(openai.APIError):
                async for _ in await client.chat.completions.create(model="m", messages=MESSAGES, stream=True):
                    pass

    run(talk())


def test_openais_client_reads_a_response() -> None:
    openai = pytest.importorskip("openai")

    async def talk() -> None:
        async with (
            Emulator("openai", PACE) as server,
            openai.AsyncOpenAI(api_key="test-key", base_url=server.url, max_retries=0) as client,
        ):
            stream = await client.responses.create(model="m", input="A latte please", stream=True)
            events = [event async for event in stream]
            assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == TEXT
            assert events[-1].type == "response.completed"
            assert events[-1].response.usage.output_tokens_details.reasoning_tokens == 2

    run(talk())


@pytest.mark.parametrize(
    ("module", "name", "timings"),
    [
        ("groq", "AsyncGroq", lambda chunk: chunk.x_groq.usage.queue_time),
        ("cerebras.cloud.sdk", "AsyncCerebras", lambda chunk: chunk.time_info.queue_time),
        ("sambanova", "AsyncSambaNova", lambda chunk: chunk.usage.time_to_first_token),
    ],
)
def test_the_fast_providers_clients_read_their_own_timings(module: str, name: str, timings: Any) -> None:
    library = pytest.importorskip(module)
    flavour = module.partition(".")[0]

    async def talk() -> None:
        async with Emulator(
            flavour, PACE, root={"groq": "/openai/v1", "cerebras": "/v1"}.get(flavour, "/v1")
        ) as server:
            options: dict[str, Any] = {"warm_tcp_connection": False} if flavour == "cerebras" else {}
            url = server.url if flavour == "sambanova" else server.host
            async with getattr(library, name)(api_key="test-key", base_url=url, max_retries=0, **options) as client:
                stream = await client.chat.completions.create(
                    model="m", messages=MESSAGES, stream=True, extra_body={"stream_options": {"include_usage": True}}
                )
                chunks = [chunk async for chunk in stream]
                said = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
                thought = [chunk.choices[0].delta.reasoning or "" for chunk in chunks if chunk.choices]
                assert "".join(said) == TEXT
                assert "".join(thought) == " hm hm"
                assert any(found(chunk, timings) in (0.01, 0.03) for chunk in chunks)
                assert server.asked[-1].path.endswith("/chat/completions")
                server.pace = replace(server.pace, failure="429", retry_after=1.5)
                error = await refuses(client.chat.completions.create(model="m", messages=MESSAGES), library, 429)
                assert error.response.headers["retry-after"] == "1.5"

    run(talk())


def test_anthropics_client_reads_a_message() -> None:
    anthropic = pytest.importorskip("anthropic")

    async def talk() -> None:
        async with (
            Emulator("anthropic", PACE, root="") as server,
            anthropic.AsyncAnthropic(api_key="test-key", base_url=server.url, max_retries=0) as client,
        ):
            async with client.messages.stream(model="m", max_tokens=60, messages=MESSAGES) as stream:
                assert "".join([text async for text in stream.text_stream]) == TEXT
                whole = await stream.get_final_message()
            assert whole.usage.output_tokens == len(TEXT.split()) + 2
            assert whole.usage.cache_read_input_tokens == 1
            assert [block.type for block in whole.content] == ["thinking", "text"]
            warmed = await client.messages.create(model="m", max_tokens=0, messages=MESSAGES)
            assert warmed.usage.output_tokens == 0
            server.pace = replace(server.pace, failure="529")
            await refuses(client.messages.create(model="m", max_tokens=5, messages=MESSAGES), anthropic, 529)
            server.pace = replace(server.pace, failure="in-stream")
            with pytest.raises(anthropic.APIStatusError):
                async for _ in await client.messages.create(model="m", max_tokens=5, messages=MESSAGES, stream=True):
                    pass

    run(talk())


def found(chunk: Any, timings: Any) -> Any:
    try:
        return timings(chunk)
    except AttributeError:
        return None


async def refuses(asking: Coroutine[Any, Any, Any], library: Any, status: int) -> Any:
    with pytest.raises(library.APIStatusError) as refused:
        await asking
    assert refused.value.status_code == status
    return refused.value
