"""Openers: chosen by what was said, and never the same one again and again."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.speculation.acts import Act
from turngap.llm.speculation.english_openers import ACTS, ENGLISH_OPENERS
from turngap.llm.speculation.openers import Choice
from turngap.llm.speculation.policy import Covered, Running, nothing


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Um, I'd like a small latte", Act.REQUEST),
        ("yes, I would like a small latte", Act.REQUEST),
        ("make me a double shot", Act.REQUEST),
        ("Could you turn it off?", Act.REQUEST),
        ("what time is it", Act.QUESTION),
        ("Is it open?", Act.QUESTION),
        ("you are closed?", Act.QUESTION),
        ("yes please", Act.ANSWER),
        ("no", Act.ANSWER),
        ("the small one", Act.STATEMENT),
        ("Thank you very much", Act.PARTING),
        ("um", None),
        ("", None),
    ],
)
def test_words_are_told_apart_by_how_they_begin(text: str, act: Act | None) -> None:
    assert ACTS.of(text) is act


def test_nothing_is_said_first_to_no_words_or_to_a_goodbye() -> None:
    choice = Choice(ENGLISH_OPENERS)
    assert choice.choose("") is choice.choose("bye") is None


def test_each_opener_is_made_ready_once() -> None:
    every = ENGLISH_OPENERS.all
    assert len(every) == len(set(every))
    assert set(every) == {text for texts in ENGLISH_OPENERS.texts.values() for text in texts}


def test_openers_take_turns() -> None:
    choice, said = Choice(ENGLISH_OPENERS), []
    for _ in range(5):
        opener = choice.choose("I want a tea")
        choice.turn(opener)
        said.append(opener)
    assert len(set(said)) == 5


@given(st.lists(st.sampled_from(["I want a tea", "what time is it", "yes", "the small one", "bye"]), max_size=60))
def test_no_opener_is_said_in_more_than_a_quarter_of_the_turns(turns: list[str]) -> None:
    choice, said = Choice(ENGLISH_OPENERS), Counter[str]()
    for count, words in enumerate(turns, 1):
        opener = choice.choose(words)
        choice.turn(opener)
        if opener is not None:
            said[opener] += 1
            assert said[opener] <= max(1, count // 4)


def test_a_supposition_is_worth_a_draft_where_no_word_can_be_missing() -> None:
    worth = Covered(uncovered_ms=160)
    assert worth(Running(words=("yes",), uncovered_ms=100))
    assert not worth(Running(words=("yes",), uncovered_ms=200))
    assert not worth(Running(words=(), uncovered_ms=0))
    assert not nothing(Running(words=("yes",), uncovered_ms=0))


def test_conversations_need_not_begin_alike() -> None:
    began = [Choice(ENGLISH_OPENERS, first=number).choose("I want a tea") for number in range(7)]
    assert len(set(began)) == 5
    assert began[0] == began[5] == ENGLISH_OPENERS.texts[Act.REQUEST][0]
