"""Words that nobody said."""

import pytest

from turngap.voice.asr.guards import is_mere_signs, is_silence, token_cap, without_loop


def test_the_cap_grows_with_the_audio() -> None:
    assert token_cap(0.0) == 8
    assert token_cap(2.0) == 20


@pytest.mark.parametrize(
    ("no_speech", "logprob"),
    [
        (0.48, -2.41),  # "I", over a bicycle
        (0.52, -1.75),  # "Oh", over music and a key tone
        (0.64, -0.92),  # "Thank you.", over a hum
        (0.70, -0.78),  # "Bye!", over a trumpet
    ],
)
def test_words_heard_where_nobody_speaks_are_nothing(no_speech: float, logprob: float) -> None:
    assert is_silence(no_speech=no_speech, logprob=logprob)


@pytest.mark.parametrize(
    ("no_speech", "logprob"),
    [
        (0.61, -1.42),  # "two"
        (0.54, -1.35),  # "five"
        (0.47, -1.72),  # "nine", in a kitchen
        (0.90, -0.30),  # words that are sure: silence needs doubtful ones
    ],
)
def test_short_answers_are_words(no_speech: float, logprob: float) -> None:
    assert not is_silence(no_speech=no_speech, logprob=logprob)


@pytest.mark.parametrize(
    ("heard", "kept"),
    [
        ("I said " + "no " * 9, "I said no"),
        ("yes " + "thank you. " * 5, "yes thank you."),
        ("and " + "the man in the moon, " * 3 + "the man", "and the man in the moon,"),
    ],
)
def test_a_loop_is_cut_to_its_first_round(heard: str, kept: str) -> None:
    assert " ".join(without_loop(heard.split())) == kept


@pytest.mark.parametrize(
    "heard", ["", "no", "no, no, no, no", "one zero zero zero one nine oh", "come on, come on, come on", "a b a b c"]
)
def test_what_people_do_repeat_is_kept(heard: str) -> None:
    assert " ".join(without_loop(heard.split())) == heard


def test_where_the_cap_was_reached_the_begin_of_a_second_round_is_a_loop() -> None:
    heard = ["it", "is", "given", "in", "cases", "of", "great", "pain.", "It", "is", "given", "in", "cases", "of"]
    assert without_loop(heard) == tuple(heard)
    assert " ".join(without_loop(heard, cut_off=True)) == "it is given in cases of great pain."


def test_signs_alone_are_no_words() -> None:
    assert is_mere_signs(())
    assert is_mere_signs((".", "-", "♪"))
    assert not is_mere_signs(("...", "7"))
    assert not is_mere_signs(("Oh.",))
