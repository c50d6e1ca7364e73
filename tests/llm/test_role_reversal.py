"""The user's next words, from the same dialogue with the roles changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.protocol import Message, Role
from turngap.llm.role_reversal import ENGLISH, MOST_WORDS, new, plain, reversed_roles, utterance, whole_sentences

SYSTEM, OURS, USERS = (
    Message(Role.SYSTEM, "Be brief."),
    Message(Role.ASSISTANT, "Is that right?"),
    Message(Role.USER, "A latte."),
)


def test_the_user_is_spoken_to_and_answers() -> None:
    system, *rest = reversed_roles([SYSTEM, USERS, OURS], ENGLISH)
    assert system == Message(Role.SYSTEM, ENGLISH.system)
    assert rest[-3:] == [
        Message(Role.USER, ENGLISH.greeting),
        Message(Role.ASSISTANT, "A latte."),
        Message(Role.USER, "Is that right?"),
    ]


@pytest.mark.parametrize("talk", [[], [SYSTEM], [SYSTEM, OURS], [OURS, USERS, OURS], [USERS, OURS, USERS, OURS]])
def test_roles_alternate_and_the_last_word_is_to_the_user(talk: list[Message]) -> None:
    _, *turned = reversed_roles(talk, ENGLISH)
    assert [message.role for message in turned] == [Role.USER, Role.ASSISTANT] * (len(turned) // 2) + [Role.USER]


def test_the_dialogue_grows_at_its_end_so_that_what_is_warm_stays_so() -> None:
    before = reversed_roles([SYSTEM, USERS, OURS], ENGLISH)
    assert reversed_roles([SYSTEM, USERS, OURS, USERS, OURS], ENGLISH)[: len(before)] == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Yes, it is. I'm sorry", "Yes, it is."),
        ("Yes, it is.", "Yes, it is."),
        (' "Yes!" he said', "Yes!"),
        ("Is it 3.50 now? I", "Is it 3.50 now?"),
        ("はい。", "はい。"),
        ("Yes, it is", None),
        ("Yes\nNo.", None),
        ("...", None),
        ("", None),
        ("a " * MOST_WORDS + "b.", None),
    ],
)
def test_only_a_complete_first_sentence_counts(text: str, sentence: str | None) -> None:
    assert utterance(text) == sentence


@given(st.text(alphabet="ab .!?\n\"3'", max_size=40))
def test_what_counts_is_short_and_has_words(text: str) -> None:
    sentence = utterance(text)
    if sentence is not None:
        assert sentence in text
        assert 1 <= len(sentence.split()) <= MOST_WORDS
        assert plain(sentence)


def test_a_reply_that_was_cut_off_ends_with_its_last_sentence() -> None:
    assert whole_sentences("Sure. It is ready! And") == "Sure. It is ready!"
    assert whole_sentences("Sure") == ""


def test_what_was_just_said_is_not_news() -> None:
    said = ["Can I get a latte please?", "Sure, is that right?", "Yes, it is."]
    assert not new("yes it is", said)
    assert not new("Can I get a latte?", said)
    assert not new("Oh, can I get a latte please, yes.", said)
    assert new("No.", said)
    assert new("Is that all?", said)


def test_texts_that_are_said_the_same_are_the_same() -> None:
    assert plain(" That’s  it, 'thank' you!") == plain("that's it thank you")
