"""Which words were heard when a reply was cut off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.tts.alignment import heard_prefix

REPLY = "Sure, one small latte coming up."


@pytest.mark.parametrize(
    ("played", "heard"),
    [
        (0, ""),
        (150, ""),
        (200, "Sure,"),
        (600, "Sure, one small"),
        (999, "Sure, one small latte coming"),
        (1000, REPLY),
        (2000, REPLY),
    ],
)
def test_words_count_as_heard_when_all_of_them_was(played: int, heard: str) -> None:
    assert heard_prefix(REPLY, played_samples=played, total_samples=1000) == heard


def test_of_a_reply_without_audio_nothing_was_heard() -> None:
    assert heard_prefix(REPLY, played_samples=0, total_samples=0) == ""


@given(st.text(), st.integers(0, 2000), st.integers(0, 2000))
def test_it_is_a_prefix_and_grows_with_what_was_played(text: str, one: int, other: int) -> None:
    less, more = (heard_prefix(text, played_samples=played, total_samples=1000) for played in sorted((one, other)))
    assert text.startswith(more)
    assert more.startswith(less)
