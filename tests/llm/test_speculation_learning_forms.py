"""Replies to wishes for listed things, learned from what was named."""

from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.learning import Exchange
from turngap.llm.speculation.learning_forms import LearnedForms, learn_forms

RIGHT = "Is your order right?"


def order(said: str, reply: str = RIGHT, act: str = "", **slots: str) -> list[Exchange]:
    return [Exchange(after="", said=said, reply=reply, act=act, slots=tuple(slots.items()))]


ORDERS = [
    order("I'd like a mocha", drink="mocha"),
    order("a mocha please", drink="mocha"),
    order("Can I get a latte", drink="latte"),
    order("I want a latte", drink="latte"),
]


def learned(*log: list[Exchange]) -> LearnedForms:
    return learn_forms(log, ENGLISH)


def said_to(learned: LearnedForms, text: str) -> str | None:
    forms = learned.matching(ENGLISH)
    assert forms is not None
    filled = forms.match(text)
    return None if filled is None else filled.text


def test_what_is_said_whichever_it_was_is_said_to_each_of_them() -> None:
    found = learned(*ORDERS)
    assert found.slots == {"drink": ("mocha", "latte")}
    assert said_to(found, "Hi, may I have a latte please") == RIGHT
    assert said_to(found, "I want a tea") is None


def test_what_the_user_said_is_said_back_if_the_agents_did() -> None:
    found = learned(
        *[
            order(each[0].said, f"{each[0].slots[0][1].title()}, coming up.", drink=each[0].slots[0][1])
            for each in ORDERS
        ]
    )
    assert said_to(found, "I'd like a mocha") == "Mocha, coming up."


def test_a_reply_that_names_another_thing_is_not_learned() -> None:
    assert (
        learned(
            *[order(each[0].said, "Did you mean latte with milk?", drink=each[0].slots[0][1]) for each in ORDERS]
        ).forms
        == ()
    )


def test_a_thing_that_leads_elsewhere_leaves_its_list() -> None:
    found = learned(*ORDERS, *[order("I want a cortado", "We are out of it.", drink="cortado")] * 2)
    assert found.slots == {"drink": ("mocha", "latte")}


def test_a_list_of_which_everything_leads_elsewhere_takes_its_form_along() -> None:
    astray = [order("I'd like a mocha", f"Answer {each}", drink="mocha") for each in "ab"]
    right = [order("a mocha", RIGHT, drink="mocha")] * 3
    assert learned(*right, *astray).forms
    assert learned(*right, *[order("a mocha", "Who are you?", drink="mocha")] * 3).forms == ()


def test_what_only_one_dialogue_named_is_not_listed_and_a_thing_is_in_one_list() -> None:
    found = learned(*ORDERS, order("I'd like a tea", drink="tea"), *[order("a latte", size="latte")] * 2)
    assert found.slots == {"drink": ("mocha", "latte")}


def test_nothing_named_teaches_nothing() -> None:
    found = learned(*[[Exchange(after="", said="a mocha", reply=RIGHT)]] * 3)
    assert found == LearnedForms(slots={}, forms=())
    assert found.matching(ENGLISH) is None


def test_replies_with_braces_are_left_alone() -> None:
    assert learned(*[order("a mocha", "It is {drink}.", drink="mocha")] * 3).forms == ()
