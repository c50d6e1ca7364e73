"""What the user may say next, foreseen by scripts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from turngap.llm.backends.scripted import ScriptedBackend, ScriptedConversation
from turngap.llm.foresight import Foreseen, Foresight
from turngap.llm.protocol import Backend, Message, Role, Urgency
from turngap.llm.thrift import SpeculationBudget

TALK = [Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "A latte please."), Message(Role.ASSISTANT, "One latte?")]
REPLIES = ("Great.", "What then?", "Sure, you can.")


class User(ScriptedBackend):
    """Its first conversation says the user's words, and the second ours."""

    def __init__(self, words: tuple[str, ...], replies: tuple[str, ...] = REPLIES) -> None:
        super().__init__(words, clock=lambda: 0)
        self.us = ScriptedBackend(replies, clock=lambda: 0)
        self._given: list[ScriptedConversation] = []

    def converse(self) -> ScriptedConversation:
        self._given.append(self.us.converse() if self._given else super().converse())
        return self._given[-1]


async def foreseen(backend: Backend, talk: list[Message], budget: SpeculationBudget | None = None) -> list[Foreseen]:
    foresight = Foresight(backend, lambda: 0, budget=budget or SpeculationBudget())
    found = [one async for one in foresight.foresee(talk)]
    await foresight.aclose()
    return found


def test_each_beginning_grows_into_what_may_be_said_and_our_reply() -> None:
    backend = User((", it is. I am sorry.", ", a tea.", " have a muffin?"))
    assert asyncio.run(foreseen(backend, TALK)) == [
        Foreseen(utterance="Yes, it is.", reply="Great."),
        Foreseen(utterance="No, a tea.", reply="What then?"),
        Foreseen(utterance="Can I have a muffin?", reply="Sure, you can."),
    ]
    assert [asked[-1].content for asked in backend.asked] == ["Yes", "No", "Can I"]
    assert backend.us.asked[1] == (*TALK, Message(Role.USER, "No, a tea."))


def test_what_is_no_sentence_or_was_just_said_or_has_no_reply_is_left_out() -> None:
    for words, replies in [
        ((", and so on and on", ", a tea.", " have a latte please."), REPLIES),
        ((", it is.", ", a tea."), (" ", "Sure.", " ")),
    ]:
        assert [one.utterance for one in asyncio.run(foreseen(User(words, replies), TALK))] == ["No, a tea."]


def test_a_reply_that_is_cut_off_keeps_its_whole_sentences() -> None:
    backend = User((" it is.",), ("Great. " + "And " * 60,))
    assert asyncio.run(foreseen(backend, TALK))[0].reply == "Great."


@pytest.mark.parametrize("talk", [[], TALK[:1], TALK[:2]])
def test_nothing_is_foreseen_while_the_floor_is_ours(talk: list[Message]) -> None:
    backend = User((" it is.",))
    assert asyncio.run(foreseen(backend, talk)) == []
    assert backend.asked == []


def test_the_budget_ends_it() -> None:
    backend, budget = User((" it is.", " it is not.", " I go?")), SpeculationBudget(tokens=30)
    assert len(asyncio.run(foreseen(backend, TALK, budget))) < 3
    assert not budget.may_start(0)
    assert asyncio.run(foreseen(User((" it is.",)), TALK, SpeculationBudget(tokens=0))) == []


def test_a_reader_that_has_enough_stops_it_and_all_of_it_is_idle_work() -> None:
    async def first() -> AsyncGenerator[Foreseen, None]:
        foresight = Foresight(backend, lambda: 0, budget=SpeculationBudget())
        async with aclosing(foresight.foresee(TALK)) as found:
            async for one in found:
                yield one
                return

    async def read() -> list[Foreseen]:
        return [one async for one in first()]

    backend = User((" it is.",))
    assert len(asyncio.run(read())) == 1
    assert (len(backend.asked), len(backend.us.asked)) == (1, 1)
    assert backend.urgencies == backend.us.urgencies == [Urgency.IDLE]
