"""What two passes agree on."""

from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.asr.stable import Hypothesis, StableWords, agreement, plain


def passes(*texts: str) -> StableWords:
    words = StableWords()
    for text in texts:
        words.take(text.split())
    return words


def test_one_pass_alone_makes_nothing_stable() -> None:
    assert passes("what time is it").stable == ()


def test_words_of_two_passes_are_stable_in_the_later_wording() -> None:
    words = passes("What time. Is", "what time is it now")
    assert words.stable == ("what", "time", "is")
    assert words.unstable == ("it", "now")


def test_the_last_word_of_a_pass_is_held_back() -> None:
    assert passes("two small", "two small").stable == ("two",)


def test_a_contradiction_moves_only_the_unstable_words() -> None:
    words = passes("one two three", "one two three", "uno two four five")
    assert words.stable == ("one", "two")
    assert words.unstable == ("four", "five")


def test_an_empty_pass_takes_no_stable_word_back() -> None:
    words = passes("one two three", "one two three", "")
    assert (words.stable, words.unstable) == (("one", "two"), ())


def test_case_and_signs_do_not_count_but_apostrophes_inside_a_word_do() -> None:
    assert plain("“Don’t!”") == "don't"
    assert plain("—") == ""
    assert agreement(["Oh,", "well"], ["oh", "well."]) == 2
    assert agreement(["its"], ["it's"]) == 0


def test_a_pass_that_listened_afresh_overrules_stable_words() -> None:
    words = passes("desire and they say", "desire and they say")
    assert len(words.stable) == 3
    words.settle(["There's", "iron", "they", "say"])
    assert not list(words.stable)
    assert words.unstable == ("There's", "iron", "they", "say")


def test_it_confirms_those_that_agree_in_its_own_wording() -> None:
    words = passes("what. time is", "what. time is")
    words.settle(["What", "time", "was", "it"])
    assert (words.stable, words.unstable) == (("What", "time"), ("was", "it"))


def test_the_text_is_all_of_the_words() -> None:
    assert Hypothesis(stable=("I", "think"), unstable=("so",)).text == "I think so"


@given(st.lists(st.lists(st.sampled_from(["a", "A.", "b", "c"]), max_size=6), max_size=12))
def test_stable_words_only_grow(takes: list[list[str]]) -> None:
    words = StableWords()
    before: tuple[str, ...] = ()
    for take in takes:
        words.take(take)
        assert words.stable[: len(before)] == before
        before = words.stable
