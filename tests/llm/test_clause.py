"""Clauses: where a reply is cut for speaking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.clause import FIRST, PATIENCE, Clauses, speakable


def cut(text: str) -> list[str]:
    clauses = Clauses()
    return clauses.feed(text) + clauses.end()


WORDS = st.sampled_from(
    [
        "Sure,",
        "I",
        "can",
        "a",
        "the",
        "latte",
        "latte.",
        "3.5",
        "10:30",
        "Mr.",
        "e.g.",
        "\n",
        "—",
        "wait—no",
        "no!",
        "?",
        " ",
    ]
)
TEXTS = st.one_of(st.text(alphabet="ab .,!?;:—\n3é😀'\"", max_size=120), st.lists(WORDS, max_size=60).map(" ".join))


@given(TEXTS, st.data())
def test_pieces_do_not_depend_on_how_the_text_arrived(text: str, data: st.DataObject) -> None:
    clauses, pieces, rest = Clauses(), [], text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        pieces += clauses.feed(rest[:size])
        rest = rest[size:]
    assert pieces + clauses.end() == cut(text)


@given(TEXTS)
def test_joined_pieces_are_the_text_but_for_white_space(text: str) -> None:
    assert "".join("".join(cut(text)).split()) == "".join(text.split())
    assert all(piece == piece.strip() and piece for piece in cut(text))


@given(st.lists(st.sampled_from(["coffee", "a", "the", "to", "milk"]), min_size=1, max_size=40).map(" ".join))
def test_the_first_piece_is_never_long(text: str) -> None:
    assert len(cut(text)[0].split()) <= FIRST.most_words + PATIENCE


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Sure thing, one latte.", ["Sure thing,", "one latte."]),
        ("Yes. One latte coming up.", ["Yes.", "One latte coming up."]),
        ("That is $3.50, thank you.", ["That is $3.50,", "thank you."]),
        ("We open at 10:30, Mr. Smith.", ["We open at 10:30,", "Mr. Smith."]),
        ("Mr. Smith, it is ready.", ["Mr. Smith,", "it is ready."]),
        ("1. Latte, tea.", ["1. Latte,", "tea."]),
        ("One moment please — I will look", ["One moment please —", "I will look"]),
        ("First line\nsecond line", ["First line", "second line"]),
    ],
)
def test_the_first_clause_is_spoken_alone(text: str, pieces: list[str]) -> None:
    assert cut(text) == pieces


def test_without_punctuation_a_piece_does_not_end_on_an_article_or_a_preposition() -> None:
    assert cut("I can bring you a tea with the milk")[0] == "I can bring you a tea"


def test_nothing_is_cut_before_the_next_character_is_known() -> None:
    clauses = Clauses()
    assert clauses.feed("It costs 3.") == []
    assert clauses.feed("5") == []
    assert clauses.feed(" dollars, all") == ["It costs 3.5 dollars,"]


def test_later_pieces_are_whole_sentences_or_long_clauses() -> None:
    text = "Sure thing, a latte, a tea, and two muffins for you today, all warm. Anything else?"
    assert cut(text) == ["Sure thing,", "a latte, a tea, and two muffins for you today,", "all warm. Anything else?"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("**Sure!** Here it is 😀", "Sure! Here it is"),
        ("- one\n- two", "one\ntwo"),
        ("# Menu\n`latte` and _tea_", "Menu\nlatte and tea"),
        ("See [the menu](http://x.y/z).", "See the menu."),
        ("snake_case and 2 * 3", "snake_case and 2 3"),
        ("🎉", ""),
    ],
)
def test_what_a_voice_cannot_say_is_left_out(text: str, said: str) -> None:
    assert speakable(text) == said
