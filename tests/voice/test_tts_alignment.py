"""Which words were heard when a reply was cut off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.tts.alignment import heard_prefix
from turngap.voice.tts.protocol import WordEnd
from turngap.voice.tts.words import words_of

REPLY = "Sure, one small latte coming up."


@pytest.mark.parametrize(
    ("played", "heard"),
    [
        (0, ""),
        (100, ""),
        (200, "Sure,"),
        (550, "Sure, one small"),
        (900, "Sure, one small latte coming"),
        (1000, REPLY),
        (2000, REPLY),
    ],
)
def test_where_no_end_is_known_a_word_takes_as_long_as_its_letters(played: int, heard: str) -> None:
    assert heard_prefix(REPLY, played_samples=played, total_samples=1000) == heard


@pytest.mark.parametrize(
    ("played", "heard"),
    [(0, ""), (374, ""), (375, "Sure,"), (649, "Sure,"), (650, "Sure, one"), (924, "Sure, one"), (925, REPLY)],
)
def test_where_ends_are_known_three_quarters_of_a_word_are_heard_as_the_word(played: int, heard: str) -> None:
    words = (WordEnd(chars=5, samples=500), WordEnd(chars=9, samples=700), WordEnd(chars=32, samples=1000))
    assert heard_prefix(REPLY, played_samples=played, total_samples=1000, words=words) == heard


def test_what_is_not_made_yet_was_not_heard() -> None:
    words = (WordEnd(chars=5, samples=500), WordEnd(chars=9, samples=710))
    assert heard_prefix(REPLY, played_samples=600, total_samples=600, words=words, complete=False) == "Sure,"


def test_the_end_of_what_is_complete_is_heard_whatever_is_known() -> None:
    words = (WordEnd(chars=5, samples=500),)
    assert heard_prefix("Sure, -", played_samples=600, total_samples=600, words=words) == "Sure, -"


@pytest.mark.parametrize("played", [0, 9])
def test_of_a_reply_without_audio_nothing_was_heard(played: int) -> None:
    assert heard_prefix(REPLY, played_samples=played, total_samples=0) == ""


@given(st.text(), st.data())
def test_it_is_a_prefix_at_a_words_end_and_grows_with_what_was_played(text: str, data: st.DataObject) -> None:
    told = [word.end() for word in words_of(text) if data.draw(st.booleans())]
    ends = sorted(data.draw(st.lists(st.integers(0, 1200), min_size=len(told), max_size=len(told))))
    words = [WordEnd(chars=chars, samples=samples) for chars, samples in zip(told, ends, strict=True)]
    played = sorted(data.draw(st.tuples(st.integers(0, 2000), st.integers(0, 2000))))
    less, more = (heard_prefix(text, played_samples=each, total_samples=1000, words=words) for each in played)
    assert text.startswith(more)
    assert more.startswith(less)
    assert len(less) in {0, len(text), *(word.end() for word in words_of(text))}
    assert heard_prefix(text, played_samples=1000, total_samples=1000, words=words) == text
