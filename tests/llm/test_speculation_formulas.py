"""Goodbyes and offers, told from replies that say something."""

import pytest

from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.formulas import OFFERS, PARTS, formula


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("You're welcome. Have a great day!", PARTS),
        ("Thank you for using our service, goodbye", PARTS),
        ("Okay. Enjoy the rest of your stay.", PARTS),
        ("Is there anything else I can help you with?", OFFERS),
        ("Great! Anything else?", OFFERS),
        ("You're welcome. Anything else today?", f"{OFFERS} {PARTS}"),
        ("Okay.", ""),
        ("", ""),
        ("Enjoy your mocha.", ""),
        ("Have a great day! It will be ready at seven.", ""),
    ],
)
def test_a_reply_that_is_nothing_but_formulas_is_told_by_what_it_does(text: str, does: str) -> None:
    assert formula(text, ENGLISH) == does
