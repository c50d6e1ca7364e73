"""Which phonemes belong to which word, by phonemes that espeak gives, and by made-up ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.voice.tts.words import last_phonemes, words_of


def parts(alone: list[str], spoken: str) -> list[str | None]:
    """What is spoken of each word, without the gap before it."""
    told: list[str | None] = []
    start = 0
    for end in last_phonemes(alone, spoken):
        told.append(None if end is None else spoken[start:end].lstrip(" ,.;:!?"))
        start = start if end is None else end
    return told


@pytest.mark.parametrize(
    ("alone", "spoken", "expected"),
    [
        pytest.param(["həlˈoʊ", "wˈɜːld"], "həlˈoʊ wˈɜːld", ["həlˈoʊ", "wˈɜːld"], id="word by word"),
        pytest.param(["wˈʌn", "ʌv", "ðə", "dˈeɪz"], "wˈʌn ʌvðə dˈeɪz", ["wˈʌn", "ʌv", "ðə", "dˈeɪz"], id="joined"),
        pytest.param(["aɪ", "hæv", "bˈɪn"], "aɪ hɐvbɪn", ["aɪ", "hɐv", "bɪn"], id="joined and reduced"),
        pytest.param(
            ["twˈɛnti fˈaɪv", "smˈɔːl"],
            "twˈɛnti fˈaɪv smˈɔːl",
            ["twˈɛnti fˈaɪv", "smˈɔːl"],
            id="many groups",
        ),
        pytest.param(["ˈeɪ", "lˈɑːt."], "ɐ lˈɑːt.", ["ɐ", "lˈɑːt"], id="sounds otherwise alone"),
        pytest.param(["stɹˈiːt.", "dʒˈeɪmz"], "sənt dʒˈeɪmz", ["sənt", "dʒˈeɪmz"], id="read otherwise alone"),
        pytest.param(
            ["nˈoʊ", "fˈaɪv"], "nˈoʊ wˈʌn tˈuː fˈaɪv", ["nˈoʊ wˈʌn tˈuː", "fˈaɪv"], id="said in more words than alone"
        ),
        pytest.param(["jˈɛs.", "", "nˈoʊ."], "jˈɛs. nˈoʊ.", ["jˈɛs", None, "nˈoʊ"], id="a dash has no sound"),
        pytest.param(["jˈɛs.", "", ""], "jˈɛs.", ["jˈɛs", None, None], id="nor has what comes at the end"),
        pytest.param(["sˈiː", "ɐ"], "sˈiː", ["sˈiː", None], id="a word that was swallowed"),
        pytest.param(["sˈiː"], "sˈiː ɪt", ["sˈiː ɪt"], id="what is left over is the last word's"),
        pytest.param(["ðə", "ɛnd"], "ðɪʲˈɛnd", ["ðɪʲ", "ˈɛnd"], id="a glide belongs to the sound before it"),
        pytest.param(["ðə", "ɛnd"], "ðəxɛnd", ["ðə", "xɛnd"], id="a sound between joined words goes to the later one"),
        pytest.param(["sˈiː", "sˈiː"], "sˈiː sˈiː", ["sˈiː", "sˈiː"], id="a word twice"),
        pytest.param([], "", [], id="nothing"),
        pytest.param(["sˈiː"], "", [None], id="nothing spoken"),
    ],
)
def test_each_word_gets_what_was_spoken_of_it(alone: list[str], spoken: str, expected: list[str | None]) -> None:
    assert parts(alone, spoken) == expected


@given(st.lists(st.text("abiu ˈː,.", max_size=7), max_size=8), st.text("abiu ˈː,.", max_size=40))
def test_ends_never_decrease_and_lie_within_what_is_spoken(alone: list[str], spoken: str) -> None:
    ends = last_phonemes(alone, spoken)
    assert len(ends) == len(alone)
    known = [end for end in ends if end is not None]
    assert known == sorted(known)
    assert all(0 < end <= len(spoken) for end in known)


@given(st.lists(st.text("abiu", min_size=1, max_size=6), min_size=1, max_size=8), st.sampled_from([" ", ", ", ". "]))
def test_words_spoken_as_they_are_alone_end_where_they_end(words: list[str], gap: str) -> None:
    ends = []
    spoken = ""
    for word in words:
        spoken += (gap if spoken else "") + word
        ends.append(len(spoken))
    assert last_phonemes(words, spoken) == ends


def test_words_stand_between_white_space() -> None:
    assert [word.group() for word in words_of(" It's 10:30 a.m. -\nso")] == ["It's", "10:30", "a.m.", "-", "so"]
