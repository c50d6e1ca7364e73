"""Scoring transcripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.asr.wer import WordErrors, align, paired_difference, pooled, scoring_words, word_errors


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2:30 pm", "two thirty p.m."),
        ("At 10:00 a.m.", "at ten am"),
        ("Don’t stop!", "don't stop"),
        ("Mr. Hale's 42 dogs", "mister hale's forty two dogs"),
        ("It costs $5", "it costs five dollars"),
        ("50%", "fifty percent"),
        ("1,250 men", "one thousand two hundred fifty men"),
        ("in 1984", "in nineteen eighty four"),
        ("the 21st", "the twenty first"),
        ("room 007", "room zero zero seven"),
        ("well-known", "well known"),
        ("20th", "twentieth"),
    ],
)
def test_two_spellings_of_the_same_words_score_as_equal(one: str, other: str) -> None:
    assert scoring_words(one) == scoring_words(other)


def test_errors_are_told_apart() -> None:
    assert word_errors("a b c d", "a x c") == WordErrors(substitutions=1, insertions=0, deletions=1, words=4)
    assert word_errors("a b", "a so b") == WordErrors(substitutions=0, insertions=1, deletions=0, words=2)


def test_the_rate_of_an_empty_reference_is_unknown() -> None:
    assert word_errors("", "you").rate is None
    assert word_errors("yes", "").rate == 1.0


def test_pooled_errors_weigh_clips_by_their_words() -> None:
    assert pooled([word_errors("a", ""), word_errors("a b c", "a b c")]).rate == 0.25


def test_the_same_clips_give_the_same_interval_around_the_difference() -> None:
    ours = [word_errors("a b c d", "a b c x")] * 3 + [word_errors("a b c d", "a b c d")] * 5
    theirs = [word_errors("a b c d", "a b c d")] * 8
    first = paired_difference(ours, theirs)
    assert first == paired_difference(ours, theirs)
    assert first.low <= first.points <= first.high
    assert first.points == pytest.approx(100 * 3 / 32)


def test_a_comparison_needs_reference_words() -> None:
    with pytest.raises(ValueError, match="no reference words"):
        paired_difference([word_errors("", "a")], [word_errors("", "")])


WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@given(WORDS, WORDS)
def test_errors_add_up_to_the_difference_in_length(reference: list[str], heard: list[str]) -> None:
    errors = align(reference, heard)
    assert errors.insertions - errors.deletions == len(heard) - len(reference)
    assert errors.total == align(heard, reference).total
    assert (errors.total == 0) == (reference == heard)


@given(st.integers(0, 2_000_000))
def test_every_number_has_words(number: int) -> None:
    assert all(word.isalpha() for word in scoring_words(str(number)))
