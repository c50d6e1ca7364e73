"""Openers, and the words that they are chosen by, in English."""

from types import MappingProxyType
from typing import Final

from turngap.llm.speculation.acts import Act, Acts
from turngap.llm.speculation.learning_openers import Manners
from turngap.llm.speculation.openers import Openers


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(row.strip() for row in text.split(","))


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row.split()) for row in text.split(","))


ACTS: Final = Acts(
    fillers=_words("um uh er hm hmm well so and hi hello hey please oh okay ok then just now"),
    partings=_words("thanks thank bye goodbye cheers"),
    answers=_words("yes yeah yep no nope nah sure right correct fine exactly absolutely"),
    wishes=_rows(
        "i want, i need, i would like, i'd like, i'd love, i would love, i'll have, i will have, i'll take, "
        "i'm looking for, i am looking for, let me have, let me get, let's, can i, may i, could i, might i, can we, "
        "could we, can you, could you, would you, will you, we need, we want, we'd like"
    ),
    verbs=_words(
        "add bake book bring brew buy call cancel change check close find fix get give go grab hand help lock make "
        "move open order pass pause play pour prepare put read remind remove reserve schedule search send serve set "
        "show start stop switch take tell turn unlock wake whip write"
    ),
    asking=_words(
        "what what's when when's where where's who who's whose which why how how's is are am was were do does did has "
        "have had can could would should will may might isn't aren't don't doesn't didn't"
    ),
)

ENGLISH_OPENERS: Final = Openers(
    acts=ACTS,
    texts=MappingProxyType(
        {
            Act.REQUEST: ("All right,", "Very well,", "Okay,", "All right, then,", "Okay, then,"),
            Act.QUESTION: ("Let me see,", "Well,", "Good question,", "Let me think,", "Right,"),
            Act.ANSWER: ("Okay,", "All right,", "Good,", "Very well,", "Right,"),
            Act.STATEMENT: ("All right,", "I see,", "Okay,", "Very well,", "All right, then,"),
        }
    ),
)
"""Each ends in a comma, so that its melody stays up and the reply goes on from it.

A small model goes on differently from each. Of what twenty orders named, SmolLM2-135M repeats 43 % without an opener,
79 after "Very well,", 64 after "All right,", 59 after "Okay, then,", 54 after "All right, then,", but 20 after "Got
it," and 16 after "Right,"; of twenty-four, 48 % without, 46 after "Okay,", 36 after "Sure," and 26 after "Of course,".
"""

MANNERS: Final = Manners(
    agreeing=frozenset(
        _phrases(
            "sure, okay, ok, all right, alright, of course, certainly, very well, great, perfect, good, excellent, "
            "no problem, got it, absolutely, definitely, sounds good, you got it, wonderful, awesome, sure thing"
        )
    ),
    open=frozenset(
        _phrases("let me see, well, let me think, let me check, right, i see, good question, understood, one moment")
    ),
    spelled=MappingProxyType({"ok": "okay", "alright": "all right"}),
    anywhere=("Let me see,", "Well,", "Let me check,", "One moment,"),
    refusing=_phrases(
        "sorry, i'm sorry, i am sorry, unfortunately, regretfully, regrettably, no, i'm afraid, i am afraid, i don't, "
        "i do not, i can't, i cannot, i couldn't, i could not, i'm not, i am not, i'm unable, i am unable, we don't, "
        "we do not, there is no, there are no, there's no, there aren't, so i'm not, so i do not, so i'm unable, "
        "i was unable, i wasn't, i was not, my apologies, i apologize"
    ),
)
