"""Openers for models that cannot be made to begin with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.openings import WithoutRepeat, instruction


def heard(opener: str, *pieces: str) -> str:
    without = WithoutRepeat(opener)
    return "".join(without.feed(piece) for piece in pieces) + without.end()


WORDS = st.sampled_from(["Sure", "sure", "one", "One", "latte", "a", "3", "I", "ß", "é", "好的"])
MARKS = st.sampled_from([" ", ", ", "! ", ".", "'", " - ", "—", "\n", "。", '"', ""])
TEXTS = st.lists(st.one_of(WORDS, MARKS), max_size=12).map("".join)


@given(TEXTS, TEXTS, st.data())
def test_what_is_heard_does_not_depend_on_how_the_text_arrived(opener: str, text: str, data: st.DataObject) -> None:
    pieces, rest = [], data.draw(st.sampled_from([text, f"{opener}{text}", f"{opener.upper()} {text}"]))
    whole = heard(opener, rest)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        pieces.append(rest[:size])
        rest = rest[size:]
    assert heard(opener, *pieces) == whole


@given(TEXTS.filter(lambda text: any(map(str.isalnum, text))), st.integers(0, 3), st.sampled_from([" ", ", ", "! "]))
def test_an_opener_is_never_heard_twice(opener: str, times: int, between: str) -> None:
    rest = heard(opener, *(opener + between for _ in range(times)), "zebra crossing")
    assert "".join(filter(str.isalnum, rest)) == "zebracrossing"  # a quotation mark may be left, which no voice says


@given(TEXTS, TEXTS)
def test_only_a_repetition_is_left_out(opener: str, text: str) -> None:
    assert heard(opener, f"zebra {text}").strip() == f"zebra {text}".strip()


@pytest.mark.parametrize(
    ("opener", "continuation", "rest"),
    [
        ("Sure,", "Sure, a latte", " a latte"),
        ("Sure,", "sure! A latte", " A latte"),
        ("Sure,", " a latte", " a latte"),
        ("Sure,", "a latte", " a latte"),
        ("Sure, ", " a latte", "a latte"),
        ("Sure,", '"Sure, a latte', " a latte"),
        ("Sure,", "Surely not", " Surely not"),
        ("Sure", ", a latte", ", a latte"),
        ("Sure,", "Sure.", ""),
        ("Sure,", "", ""),
        ("Sure,", "Sur", " Sur"),
        ("Sure, a small latte,", "a small latte coming up", " coming up"),
        ("Sure, a small latte,", "A latte coming up", " A latte coming up"),
        ("Sure, one,", "one moment", " one moment"),
        ("That is 3", "That is 3.50", " That is 3.50"),
        ("I", "I'll see", " I'll see"),
        ("I", "I, too", " too"),
        ("", "Sure", "Sure"),
        ("...", "Sure", " Sure"),
        ("Maß,", "MASS und", " und"),
        ("好的，", "好的，我", " 我"),
    ],
)
def test_the_rest_fits_behind_the_opener(opener: str, continuation: str, rest: str) -> None:
    assert heard(opener, continuation) == rest
    assert heard(opener, *continuation) == rest


def test_text_is_held_back_only_while_it_may_be_a_repetition() -> None:
    without = WithoutRepeat("Sure,")
    assert [without.feed(letter) for letter in "Such a"] == ["", "", " Suc", "h", " ", "a"]


def test_the_instruction_quotes_the_opener() -> None:
    assert "'Sure' they say," in instruction(' "Sure" they say, ')
