"""What words say about whether their speaker is done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.wording import Claim, Lexicon, Standing, claim, standing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Standing.NOTHING),
        ("...", Standing.NOTHING),
        ("I would like a", Standing.CUT),
        ("I would like", Standing.CUT),
        ("a latte with sugar and...", Standing.CUT),
        ("a latte with sugar and.", Standing.CUT),
        ("I'd like, um", Standing.FILLER),
        ("But she said,", Standing.TRAILING),
        ("Fortunately...", Standing.TRAILING),
        ("My number is 415 555", Standing.NUMBER),
        ("four one five", Standing.NUMBER),
        ("What time is it?", Standing.QUESTION),
        ("What's the weather like?", Standing.QUESTION),
        ("He was more respectable than he was.", Standing.SENTENCE),
        ("A small latte, please", Standing.CLOSING),
        ("Thank you.", Standing.CLOSING),
        ("I'd like a small latte.", Standing.SENTENCE),
        ("small latte", Standing.PHRASE),
        ("at 2 30", Standing.NUMBER),
        ("at 12", Standing.PHRASE),
    ],
)
def test_a_text_stands_by_its_end(text: str, expected: Standing) -> None:
    assert standing(text, ENGLISH) is expected


@pytest.mark.parametrize(
    ("asked", "text", "expected"),
    [
        ("Do you want milk with it?", "Yes.", Standing.ANSWER),
        ("Sure. Do you want milk with it?", "no thanks", Standing.ANSWER),
        ("Do you want it hot or cold?", "yes", Standing.PHRASE),
        ("What size would you like?", "yes", Standing.PHRASE),
        ("Is that all?", "yes but I would also want to have some cake", Standing.PHRASE),
        ("I have ordered it.", "yes", Standing.PHRASE),
        ("What is your phone number?", "4", Standing.NUMBER),
        ("How many do you want?", "4", Standing.PHRASE),
    ],
)
def test_the_agents_question_tells_what_an_answer_is(asked: str, text: str, expected: Standing) -> None:
    assert standing(text, ENGLISH, asked=asked) is expected


def test_a_language_without_a_lexicon_has_its_marks() -> None:
    assert standing("and the", Lexicon()) is Standing.PHRASE
    assert standing("Und dann?", Lexicon()) is Standing.QUESTION


@pytest.mark.parametrize("text", ["", "mhm", "Yeah, right.", "Okay.", "uh", "Oh, I see."])
def test_what_is_said_along_leaves_the_floor(text: str) -> None:
    assert claim(text, ENGLISH) is Claim.NONE


@pytest.mark.parametrize("text", ["stop", "No.", "yeah but wait", "Okay, how much is it?", "turn it off"])
def test_other_words_take_it(text: str) -> None:
    assert claim(text, ENGLISH) is Claim.SURE


@pytest.mark.parametrize("text", ["Hello?", "Oh, Zia.", "Oh fudge fudge fudge"])
def test_one_word_may_have_been_none(text: str) -> None:
    assert claim(text, ENGLISH) is Claim.DOUBTFUL


@given(st.text(), st.text())
def test_any_text_stands_somehow(text: str, asked: str) -> None:
    assert standing(text, ENGLISH, asked=asked) in Standing
