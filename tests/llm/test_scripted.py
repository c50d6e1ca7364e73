"""The scripted backend, and the registry that finds it."""

import asyncio
from pathlib import Path

import pytest

from turngap.budget.clock import MS, Ns
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Stage
from turngap.llm.backends import BACKENDS, make_backend
from turngap.llm.backends.scripted import ScriptedBackend
from turngap.llm.protocol import Limits, Message, Role, Urgency

ASK = [Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "A latte please")]


class Hand:
    """A clock that moves only where a cost is slept."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> Ns:
        return self.now

    async def sleep(self, duration: Ns) -> None:
        self.now += duration


def nowhere(name: str) -> Path:
    raise AssertionError(f"{name} is not needed")


def make(choice: str) -> ScriptedBackend:
    backend = make_backend(choice, find_model=nowhere, clock=Hand())
    assert isinstance(backend, ScriptedBackend)
    return backend


async def read(backend: ScriptedBackend, limits: Limits) -> list[str]:
    return [delta.text async for delta in backend.converse().reply(ASK, limits=limits)]


def test_it_says_the_script_word_by_word() -> None:
    assert asyncio.run(read(make("scripted?reply=Sure, one latte."), Limits())) == ["Sure,", " one", " latte."]


def test_a_conversation_goes_through_its_replies_and_reports_what_was_cached() -> None:
    async def talk() -> None:
        conversation = make("scripted?reply=One.|Two.").converse()
        first = conversation.reply(ASK, limits=Limits())
        assert [delta.text async for delta in first] == ["One."]
        more = [*ASK, Message(Role.ASSISTANT, "One."), Message(Role.USER, "Thanks")]
        second = conversation.reply(more, limits=Limits())
        assert [delta.text async for delta in second] == ["Two."]
        assert second.usage.cached_tokens == first.usage.prompt_tokens
        assert second.usage.prefilled_tokens == 4
        assert second.usage.finish == "stop"

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("opener", "rest"),
    [("Sure,", " one latte."), ("Sure, ", "one latte."), ("So,", " Sure, one latte."), ("So, ", "Sure, one latte.")],
)
def test_it_goes_on_from_an_opener(opener: str, rest: str) -> None:
    async def talk() -> None:
        asked = [*ASK, Message(Role.ASSISTANT, opener)]
        reply = make("scripted?reply=Sure, one latte.").converse().reply(asked, limits=Limits())
        assert "".join([delta.text async for delta in reply]) == rest

    asyncio.run(talk())


def test_costs_are_slept_and_become_spans() -> None:
    async def talk() -> None:
        hand = Hand()
        backend = ScriptedBackend(["a b c"], clock=hand, prefill=30 * MS, token=10 * MS, sleep=hand.sleep)
        reply = backend.converse().reply(ASK, limits=Limits())
        assert [delta.at async for delta in reply] == [30 * MS, 40 * MS, 50 * MS]
        assert [span.stage for span in reply.usage.spans] == [Stage.PREFILL, Stage.DECODE, Stage.DECODE]

    asyncio.run(talk())


def test_a_script_knows_how_soon_it_is_wanted() -> None:
    reply = make("scripted").converse().reply(ASK, limits=Limits(), urgency=Urgency.DRAFT)
    known = [reply.urgency]
    reply.hasten()
    assert [*known, reply.urgency] == [Urgency.DRAFT, Urgency.LIVE]


def test_limits_end_a_reply() -> None:
    backend = make("scripted?reply=a b c d")
    assert asyncio.run(read(backend, Limits(max_tokens=2))) == ["a", " b"]
    assert asyncio.run(read(backend, Limits(stop=(" c",)))) == ["a", " b"]


@pytest.mark.parametrize(("when", "stage", "heard"), [("before", Stage.PREFILL, 0), ("after", Stage.DECODE, 1)])
def test_it_fails_where_it_is_told_to(when: str, stage: Stage, heard: int) -> None:
    async def talk() -> None:
        reply = make(f"scripted?fail={when}").converse().reply(ASK, limits=Limits())
        texts = [(await anext(reply)).text for _ in range(heard)]
        assert len(texts) == heard
        with pytest.raises(StageError) as failed:
            await anext(reply)
        assert failed.value.stage is stage

    asyncio.run(talk())


def test_a_stall_ends_when_its_reader_gives_up() -> None:
    async def talk() -> None:
        reply = make("scripted?stall=after").converse().reply(ASK, limits=Limits())
        await anext(reply)
        waiting = asyncio.ensure_future(anext(reply))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await reply.aclose()
        await reply.aclose()

    asyncio.run(talk())


@pytest.mark.parametrize("choice", ["scripted?volume=3", "scripted?fail=never", "scripted?token_ms=fast", "mumbling"])
def test_a_wrong_choice_is_refused_with_a_remedy(choice: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        make(choice)
    assert refused.value.remedy


def test_ours_are_registered() -> None:
    assert {"local", "scripted"} <= set(BACKENDS.names())
