"""A reply never crosses what may be a slot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.guard import conflict
from turngap.llm.speculation.language import Language

SAID = """
i you want a the no not never is are do did can latte tea with without two three sugar anna my your this that one open
on off today monday yes if when what have had will order orders been please
"""
SAYINGS = st.lists(st.sampled_from(SAID.split()), max_size=8).map(" ".join)


@given(SAYINGS)
def test_nothing_conflicts_with_itself(said: str) -> None:
    assert conflict(said, said, ENGLISH) is None


@given(SAYINGS, SAYINGS)
def test_a_conflict_has_no_direction(one: str, two: str) -> None:
    assert (conflict(one, two, ENGLISH) is None) == (conflict(two, one, ENGLISH) is None)


@given(SAYINGS, st.sampled_from(["Zog", "42", "red", "never"]))
def test_whatever_is_unknown_may_be_a_slot(said: str, slot: str) -> None:
    assert conflict(said, f"{said} {slot}", ENGLISH) is not None or slot == "never"


@pytest.mark.parametrize(
    ("said", "known", "reason"),
    [
        ("a tea without sugar", "a tea with sugar", "negation: only one of them denies sugar"),
        ("a tea with two sugars", "a tea with three sugars", "numbers: 2 against 3"),
        ("two teas", "a tea", "numbers: 2 against none"),
        ("call Anna", "call Hannah", "words: only one of them says anna, hannah"),
        ("it is", "you are", "words: nothing to tell them by"),
        ("you are open", "are you open", "question: only one of them asks"),
        ("I ordered a tea yesterday", "I will order a tea yesterday", "tense: past against future"),
        ("where did I park", "where do I park", "tense: past against present"),
        ("call my wife", "call your wife", "person: I against you"),
        ("how is my order", "how is her order", "person: I against she"),
        ("who are you", "who is it", "person: you against none"),
        ("give this to Anna", "give that to Anna", "which one: this against that"),
        ("cancel my order", "cancel my orders", "quantity: one or many of order"),
        ("from Rome to London", "from London to Rome", "order: the same words, but not in the same places"),
        ("move it from Monday to Tuesday", "move it from Tuesday to Monday", "order: the same words, but not in"),
    ],
)
def test_the_reason_names_the_first_difference_that_matters(said: str, known: str, reason: str) -> None:
    found = conflict(said, known, ENGLISH)
    assert found is not None
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I do not", "I do"),
        ("is it not", "is it"),
        ("no sugar and no milk", "sugar and no milk"),
        ("no sugar not", "sugar"),
        ("no that's wrong", "that's not wrong"),
        ("with cream but no sugar", "with sugar but no cream"),
        ("three tacos and two sodas", "two tacos and three sodas"),
        ("two adults and one child", "one adult and two children"),
        ("I want to book a table", "I have booked a table"),
        ("turn on the fan and turn off the light", "turn off the fan and turn on the light"),
        ("I can bring my dog", "can I bring my dog"),
        ("lend me a charger", "I lend you a charger"),
        ("I lost my card", "you lost my card"),
        ("yes I don't", "yes I do"),
        ("right door", "door"),
        ("nobody came", "somebody came"),
        ("that's right", "the right one"),
        ("the second one", "give me a second"),
        ("can I get the bill", "I have a question about my bill"),
        ("thanks for your help", "I need help"),
        ("who can I talk to", "who am I talking to"),
        ("wake me at seven", "wake me at seven in the morning"),
        ("the reservation is under Adam", "the reservation is under Adams"),
    ],
)
def test_these_are_not_the_same(said: str, known: str) -> None:
    assert conflict(said, known, ENGLISH) is not None


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("one latte", "a latte"),
        ("the large one", "the large"),
        ("the second one", "the second"),
        ("tomorrow call Anna", "call Anna tomorrow"),
        ("the balance of my account", "my account balance"),
        ("is it gluten free", "is that gluten free"),
        ("can you tell me if you are open", "are you open"),
        ("no I don't", "I don't"),
        ("yes that's right", "that's right"),
        ("you charged me twice", "I was charged twice"),
        ("I'm going to be late", "I will be late"),
        ("what does a latte cost", "how much is a latte"),
        ("the parties", "the party" + "s"),
        ("on Sunday are you open", "are you open on Sunday"),
        ("turn the light on", "switch on the light"),
        ("I have lost my card", "I lost my card"),
    ],
)
def test_these_are(said: str, known: str) -> None:
    assert conflict(said, known, ENGLISH) is None


def test_without_lists_only_the_same_words_will_do() -> None:
    assert conflict("Ein Kaffee!", "ein kaffee", Language()) is None
    assert conflict("Ein Kaffee", "ein Tee", Language()) == "words: only one of them says kaffee, tee"


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I was about to order", "I have ordered"),
        ("I need work", "I need my work"),
        ("the fourth of May", "the fifth of May"),
        ("tomorrow in the evening", "tomorrow in the morning"),
        ("Are you able to see me", "Are you not able to see me"),
        ("That's all I need", "That's not all I need"),
        ("I do not mind", "I do mind"),
        ("Yes, that's it", "That's it"),
        ("Do you know if you deliver", "You deliver"),
        ("Can I call her", "Can you call her"),
        ("I'd like to see it", "I'd like it"),
        ("It's about to start", "It's about the start"),
        ("He has been paid", "He has paid"),
    ],
)
def test_what_sounds_alike_is_told_apart(said: str, known: str) -> None:
    assert conflict(said, known, ENGLISH) is not None
    assert conflict(known, said, ENGLISH) is not None


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("on the fourth of June", "June the fourth"),
        ("tomorrow in the morning", "tomorrow morning"),
        ("Are you able to see me", "Can you see me"),
        ("No, that's everything I need for today, thank you very much", "That's all"),
        ("I'm all set", "No, that will be it for now"),
        ("Thank you so much for all your help", "thanks"),
        ("Do you know if you deliver", "Do you deliver"),
        ("It doesn't matter to me", "I have no preference"),
        ("either one is fine", "any will do"),
        ("that sounds great", "sounds good"),
        ("At what time can I come in", "When can I come in"),
        ("Can I have a tea", "Can you bring me a tea"),
    ],
)
def test_more_ways_to_say_the_same(said: str, known: str) -> None:
    assert conflict(said, known, ENGLISH) is None
