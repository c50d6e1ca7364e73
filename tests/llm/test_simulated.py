"""The simulated tier on a loop whose time leaps: exact instants, and words of its own or of another backend."""

import asyncio
from pathlib import Path

import leap
import pytest

from turngap.budget.clock import MS, Ns
from turngap.budget.errors import ConfigurationError
from turngap.budget.marks import Stage
from turngap.llm.backends import make_backend
from turngap.llm.protocol import Backend, Limits, Message, Role, Usage

ASK = [Message(Role.USER, "A latte please")]


def nowhere(name: str) -> Path:
    raise AssertionError(f"{name} is not needed")


def heard(choice: str, limits: Limits | None = None) -> tuple[list[tuple[Ns, str]], Usage, dict[str, str]]:
    """What ``choice`` says and when, from its request on; what it used, and how it describes itself."""
    loop = leap.LeapingLoop()

    async def talk() -> tuple[list[tuple[Ns, str]], Usage, dict[str, str]]:
        backend: Backend = make_backend(choice, find_model=nowhere, clock=loop.clock)
        await backend.warm()
        conversation = backend.converse()
        await conversation.prepare(ASK)
        asked = loop.clock()
        reply = conversation.reply(ASK, limits=limits or Limits())
        reply.hasten()
        said = [(delta.at - asked, delta.text) async for delta in reply]
        await reply.aclose()
        await conversation.aclose()
        await backend.aclose()
        return said, reply.usage, backend.describe()

    return leap.run(loop, talk())


def near(said: list[tuple[Ns, str]]) -> list[tuple[int, str]]:
    return [(round(at / MS), text) for at, text in said]


def test_each_token_has_its_instant() -> None:
    said, usage, _ = heard("sim?ttft=240ms&rate=100&reply=Sure, one latte.")
    assert near(said) == [(240, "Sure"), (250, ","), (260, " one"), (270, " latte"), (280, ".")]
    assert usage.completion_tokens == 5
    assert usage.finish == "stop"
    assert [span.stage for span in usage.spans] == [Stage.PREFILL, Stage.DECODE]


def test_it_says_that_it_is_simulated_and_how_far_its_figures_go() -> None:
    _, usage, described = heard("sim:cerebras-llama-405b?reply=Yes.")
    assert usage.simulated
    assert described["simulated"] == "sim:cerebras-llama-405b?reply=Yes."
    assert described["grades"] == "ttft vendor, rate vendor"


def test_limits_end_it_in_its_own_tokens() -> None:
    said, usage, _ = heard("sim?ttft=1ms&rate=1000&reply=Sure, one latte.", Limits(max_tokens=3))
    assert "".join(text for _, text in said) == "Sure, one"
    assert usage.finish == "length"


def test_the_words_may_be_another_backends_and_a_slow_one_makes_it_late() -> None:
    said, usage, described = heard("sim?ttft=20ms&rate=100&from=scripted")
    assert near(said)[:2] == [(20, "Sure"), (30, ",")]
    assert usage.late == 0
    assert described["words"] == "scripted"


def test_its_tail_and_jitter_are_the_seeds() -> None:
    once, again = (heard("sim?ttft=100ms&rate=100&jitter=0.3&p95=1s&seed=4&reply=Yes.")[0] for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    "choice", ["sim?rate=3", "sim:abacus", "sim?ttft=1&rate=1&volume=3", "sim?ttft=1&rate=1&from=abacus"]
)
def test_a_wrong_choice_is_refused_with_a_remedy(choice: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        make_backend(choice, find_model=nowhere, clock=lambda: 0)
    assert refused.value.remedy


def test_a_reply_can_be_closed_while_it_waits() -> None:
    async def talk() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, leap.LeapingLoop)
        backend = make_backend("sim?ttft=1s&rate=10", find_model=nowhere, clock=loop.clock)
        reply = backend.converse().reply(ASK, limits=Limits())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await anext(reply)
        await reply.aclose()
        await reply.aclose()

    leap.run(leap.LeapingLoop(), talk())
