"""Which words are told as stable, and that they hold."""

from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.asr.stable import Hypothesis, StableWords, agreement, covered, plain

SECOND = 16_000


def passes(*takes: tuple[float, str]) -> StableWords:
    """After passes that each knew so many seconds of audio, and heard this."""
    words = StableWords()
    for seconds, text in takes:
        words.take(text.split(), end=round(seconds * SECOND))
    return words


def test_words_that_stay_the_same_while_two_and_a_half_seconds_of_audio_arrive_are_stable() -> None:
    words = passes((1.0, "what time"), (2.0, "what time is it"), (3.5, "what time is it now"))
    assert words.stable == ("what", "time")
    assert words.unstable == ("is", "it", "now")


def test_less_makes_nothing_stable() -> None:
    assert passes((1.0, "what time"), (1.4, "what time is"), (3.4, "what time is it")).stable == ()


def test_words_that_the_recogniser_is_sure_of_take_less() -> None:
    words = passes((1.0, "what time"), (1.4, "what time"))
    words.take(["what", "time", "is"], sure=[0.9, 0.8, 0.9], end=round(1.6 * SECOND))
    assert (words.stable, words.unstable) == (("what", "time"), ("is",))


def test_a_doubtful_word_holds_up_those_behind_it() -> None:
    words = passes((1.0, "what time is it"))
    words.take(["what", "time", "is", "it"], sure=[0.9, 0.6, 0.9, 0.9], end=2 * SECOND)
    assert " ".join(words.stable) == "what"
    words.take(["what", "time", "is", "it"], sure=[0.9, 0.6, 0.9, 0.9], end=4 * SECOND)
    assert words.stable == ("what", "time", "is", "it")


def test_a_figure_is_not_stable_before_another_word_is_since_more_of_it_may_be_dictated() -> None:
    words = passes((1.0, "dial 902"), (3.5, "dial 902"))
    assert " ".join(words.stable) == "dial"
    words.take(["dial", "902-10", "please"], end=4 * SECOND)
    assert words.unstable == ("902-10", "please")
    words.take(["dial", "902-10", "please"], end=7 * SECOND)
    assert words.stable == ("dial", "902-10", "please")


def test_one_pass_alone_makes_nothing_stable_however_much_it_heard() -> None:
    assert passes((9.0, "what time is it in the house now")).stable == ()


def test_a_word_that_was_another_in_between_begins_anew_and_so_do_those_behind_it() -> None:
    words = passes((1.0, "I would like"), (2.0, "I wood like"), (3.5, "I would like"))
    assert " ".join(words.stable) == "I"
    words.take(["I", "would", "like", "tea"], end=6 * SECOND)
    assert words.stable == ("I", "would", "like")


def test_case_and_signs_do_not_count_and_the_latest_wording_is_kept() -> None:
    assert passes((1.0, "What. Time"), (3.5, "what time?")).stable == ("what", "time?")


def test_a_later_pass_that_says_something_else_changes_only_what_is_not_stable() -> None:
    words = passes((1.0, "one two"), (3.5, "one two three"), (3.8, "uno two four five"))
    assert words.stable == ("one", "two")
    assert words.unstable == ("four", "five")


def test_a_word_that_a_later_pass_splits_or_joins_is_not_said_twice() -> None:
    split = passes((1.0, "a teaspoonful of"), (3.5, "a teaspoonful of"), (4.0, "a tea spoonful of butter"))
    assert split.stable + split.unstable == ("a", "teaspoonful", "of", "butter")
    joined = passes((1.0, "all right I"), (3.5, "all right I"), (4.0, "alright I think"))
    assert joined.stable + joined.unstable == ("all", "right", "I", "think")


def test_a_pass_that_hears_nothing_takes_no_stable_word_back() -> None:
    words = passes((1.0, "one two"), (3.5, "one two three"), (3.8, ""))
    assert (words.stable, words.unstable) == (("one", "two"), ())


def test_words_from_before_a_pass_that_heard_nothing_begin_anew() -> None:
    assert passes((1.0, "you"), (2.0, ""), (3.0, "you"), (5.4, "you")).stable == ()


def test_known_words_cover_as_many_as_leave_the_fewest_differing() -> None:
    assert covered([], ["one"]) == 0
    assert covered(["One"], ["one", "two"]) == 1
    assert covered(["one", "two"], ["one"]) == 1
    assert covered(["a", "b", "c"], ["x", "a", "b", "c", "d"]) == 4
    assert covered(["a", "b", "c"], ["b", "c", "d"]) == 2
    assert covered(["a", "b"], ["a", "x", "c"]) == 2, "not 1, which is as good but for the number"


def test_case_and_outer_signs_are_not_the_word_but_apostrophes_inside_are() -> None:
    assert plain("“Don’t!”") == "don't"
    assert plain("—") == ""
    assert agreement(["Oh,", "well"], ["oh", "well."]) == 2
    assert agreement(["its"], ["it's"]) == 0


def test_the_text_is_all_of_the_words() -> None:
    assert Hypothesis(stable=("I", "think"), unstable=("so",)).text == "I think so"


TEXTS = st.lists(st.sampled_from(["a", "A.", "b", "c", "7"]), max_size=6)
SURE = st.sampled_from([(), (1.0,) * 6, (0.9, 0.5, 1.0, 0.7, 0.8, 0.9)])


@given(st.lists(st.tuples(st.integers(0, 3 * SECOND), TEXTS, SURE), max_size=12))
def test_stable_words_begin_all_later_ones(takes: list[tuple[int, list[str], tuple[float, ...]]]) -> None:
    words, end = StableWords(), 0
    for more, take, sure in takes:
        before, end = words.stable, end + more
        words.take(take, end=end, sure=sure[: len(take)])
        assert (words.stable + words.unstable)[: len(before)] == before
        assert words.stable[: len(before)] == before


@given(TEXTS, TEXTS)
def test_nothing_is_lost_or_said_twice_where_the_known_words_are_confirmed(known: list[str], more: list[str]) -> None:
    assert covered(known, known + more) == len(known)
