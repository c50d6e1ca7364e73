"""Openers as agents use them."""

from turngap.llm.speculation.acts import Act
from turngap.llm.speculation.english_openers import ENGLISH_OPENERS, MANNERS
from turngap.llm.speculation.learning import Exchange
from turngap.llm.speculation.learning_openers import CHOICES, learn_openers
from turngap.llm.speculation.openers import Openers


def learned(*pairs: tuple[str, str]) -> Openers:
    log = [[Exchange(after="", said=said, reply=reply)] for said, reply in pairs]
    return learn_openers(log, ENGLISH_OPENERS, MANNERS)


def test_what_agents_begin_with_goes_first() -> None:
    found = learned(*[("I want a tea", "Great, coming up.")] * 3, *[("I want a tea", "Sure. Anything else?")] * 4)
    assert found.texts[Act.REQUEST][:2] == ("Sure,", "Great,")
    assert len(found.texts[Act.REQUEST]) == CHOICES


def test_where_agents_often_refuse_nothing_agrees() -> None:
    refused = [("I want a tea", "Sorry, we are out of tea.")] * 2
    found = learned(*refused, *[("I want a tea", "Sure, coming up.")] * 4)
    assert set(found.texts[Act.REQUEST]) <= {f"{each.capitalize()}," for each in MANNERS.open}
    assert found.texts[Act.REQUEST]


def test_three_dialogues_say_something_and_fewer_nothing() -> None:
    found = learned(*[("I want a tea", "Great, coming up.")] * 2, ("", "Great."))
    assert found.texts == ENGLISH_OPENERS.texts
    found = learned(*[("I want a tea", "Great, coming up.")] * 2, ("I want a tea", "It is ready."))
    assert "Great," not in found.texts[Act.REQUEST]


def test_a_refusal_is_told_by_how_it_begins() -> None:
    assert MANNERS.refuses("Sorry, we don't have that.")
    assert MANNERS.refuses("Well, I'm sorry to say that it is gone.")
    assert not MANNERS.refuses("Sure. Here you are.")
    assert not MANNERS.refuses("Nothing is easier.")
    assert MANNERS.begins("Sure thing, one tea.") == "sure thing"
    assert MANNERS.begins("One tea.") is None


def test_an_opener_is_one_however_it_is_written() -> None:
    spellings = ("Ok.", "Okay,", "ok")
    found = learned(*[("I want a tea", f"{each} coming up.") for each in spellings])
    assert found.texts[Act.REQUEST][0] == "Okay,"
    assert MANNERS.refuses("Ok, sorry about that.")
