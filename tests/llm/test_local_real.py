"""The local backend on the model that comes with turngap."""

import asyncio
from pathlib import Path

import pytest

from turngap.budget.clock import monotonic
from turngap.budget.errors import TurngapError
from turngap.llm.backends import make_backend
from turngap.llm.history import History
from turngap.llm.protocol import Limits
from turngap.voice.models import store

pytestmark = pytest.mark.model


@pytest.fixture
def folder() -> Path:
    try:
        return store.find("smollm2-135m-instruct")
    except TurngapError as error:
        pytest.skip(str(error))


def test_turn_five_prefills_only_its_new_tokens(folder: Path) -> None:
    async def talk() -> None:
        backend = make_backend("local", find_model=lambda _: folder, clock=monotonic)
        await backend.warm()
        conversation, history = backend.converse(), History("You are a friendly barista. Answer in one short sentence.")
        for text in ("A latte please.", "With oat milk.", "And a muffin.", "How much is it?", "Thanks, bye."):
            reply = conversation.reply(history.messages_with(text), limits=Limits(max_tokens=24))
            words = "".join([delta.text async for delta in reply])
            history.user(text)
            history.assistant(words)
            assert words
        assert reply.usage.prefilled_tokens is not None
        assert reply.usage.prefilled_tokens <= 20
        assert reply.usage.cached_tokens is not None
        assert reply.usage.cached_tokens > 100
        await backend.aclose()

    asyncio.run(talk())


def test_going_on_from_its_own_first_words_the_model_says_the_same(folder: Path) -> None:
    async def talk() -> None:
        backend = make_backend("local?precision=fp32", find_model=lambda _: folder, clock=monotonic)
        history = History("You are a friendly barista. Answer in one short sentence.")

        async def say(opener: str) -> str:
            asked = history.messages_with("A small latte please.", opener=opener)
            return "".join(
                [delta.text async for delta in backend.converse().reply(asked, limits=Limits(max_tokens=16))]
            )

        whole = await say("")
        for count in (1, 2, 3):
            opener = " ".join(whole.split(" ")[:count])
            assert (opener + await say(opener)).startswith(whole)
        assert (await say("Sure, ")).lstrip()[:4] != "Sure"
        await backend.aclose()

    asyncio.run(talk())
