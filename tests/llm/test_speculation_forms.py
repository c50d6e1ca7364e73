"""Orders are said back in the user's own words, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.forms import Forms
from turngap.llm.speculation.reply_file import parse_forms

MENU = """
joints = ["with", "and"]
wishes = ["brew me"]

[slots]
drink = ["latte", "mocha", "iced mocha"]
size = ["small", "20 ounce"]
milk = ["milk", "oat milk"]

[[form]]
must = ["drink"]
may = ["size", "milk"]
say = ["{asked}, coming up.", "One {drink}, that is {asked}."]
"""


@pytest.fixture
def forms() -> Forms:
    found = parse_forms(MENU, "menu", ENGLISH)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("A small latte.", "Small latte, coming up."),
        ("I'd like a small latte with oat milk, please.", "Small latte with oat milk, coming up."),
        ("um can I get a 20-ounce iced mocha", "20-ounce iced mocha, coming up."),
        ("Brew me a mocha. With milk.", "Mocha With milk, coming up."),
        ("Hello, latte please", "Latte, coming up."),
    ],
)
def test_a_wish_for_what_is_listed_is_said_back(forms: Forms, said: str, reply: str) -> None:
    filled = forms.match(said)
    assert filled is not None
    assert filled.text == reply


@pytest.mark.parametrize(
    "said",
    [
        "",
        "small",
        "I don't want a latte",
        "a latte without milk",
        "a latte with no milk",
        "two lattes",
        "two latte",
        "a latte or a mocha",
        "a latte no a mocha",
        "is there milk in a latte",
        "a latte for Ann",
        "a latte with",
        "a latte and",
        "a latte tomorrow",
        "a latte, actually no",
        "I want the latte that I had with milk",
        "do you have a latte",
        "was it a small latte",
    ],
)
def test_whatever_else_is_said_makes_it_another_turn(forms: Forms, said: str) -> None:
    assert forms.match(said) is None


def test_wordings_take_turns_as_they_are_spoken(forms: Forms) -> None:
    forms.match("a latte")
    forms.said()
    filled = forms.match("a small latte")
    assert filled is not None
    assert (filled.text, dict(filled.slots)) == ("One latte, that is small latte.", {"size": "small", "drink": "latte"})


SOME = (
    "a",
    "the",
    "small",
    "20",
    "ounce",
    "latte",
    "mocha",
    "iced",
    "with",
    "and",
    "milk",
    "oat",
    "no",
    "two",
    "please",
)


@given(st.lists(st.sampled_from(SOME), max_size=9))
def test_nothing_is_said_back_that_was_not_said(words: list[str]) -> None:
    found = parse_forms(MENU, "menu", ENGLISH)
    assert found is not None
    filled = found.match(" ".join(words))
    if filled is not None:
        asked = filled.text.removesuffix(", coming up.").casefold()
        assert asked in " ".join(words)
        assert set(words) - set(asked.split()) <= {"a", "the", "please", "and"}  # "and" begins a turn


def test_a_file_without_forms_has_none() -> None:
    assert parse_forms("", "menu", ENGLISH) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('[[form]]\nmust = ["drink"]\nsay = "x"', "no slots"),
        ('[slots]\ndrink = ["tea"]\n[[form]]\nmust = ["size"]\nsay = "x"', "size"),
        ('[slots]\ndrink = ["tea"]\n[[form]]\nmust = ["drink"]\nsay = "{size}"', "size"),
        ('[slots]\ndrink = ["tea"]\n[[form]]\nsay = "x"', "must"),
        ('[slots]\ndrink = []\n[[form]]\nmust = ["drink"]\nsay = "x"', "drink"),
        ('[slots]\ndrink = ["tea"]\n[[form]]\nmust = ["drink"]\nsay = "x"\nwhen = "y"', "when"),
        ("form = 1", "form"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(text: str, names: str) -> None:
    with pytest.raises(ConfigurationError, match=names) as refused:
        parse_forms(text, "menu", ENGLISH)
    assert refused.value.remedy
