"""What is written is read as it was."""

from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.forms import Form
from turngap.llm.speculation.reply_file import parse_forms, parse_replies
from turngap.llm.speculation.reply_writing import reply_text
from turngap.llm.speculation.stored import StoredReply

TEXT = st.text(st.characters(exclude_categories=["Cs"])).map(str.strip).filter(bool)
TEXTS = st.lists(TEXT, min_size=1, max_size=3).map(tuple)
REPLIES = st.builds(StoredReply, utterances=TEXTS, says=TEXTS, state=st.just("") | TEXT)


@given(st.lists(REPLIES, max_size=2))
def test_replies_come_back(replies: list[StoredReply]) -> None:
    assert parse_replies(reply_text(replies), "written") == replies


def test_forms_come_back() -> None:
    drink, milk = frozenset(["drink"]), frozenset(["milk"])
    forms = [Form(must=drink, may=milk, says=("{asked}?",)), Form(must=milk, may=frozenset(), says=("A drink?",))]
    slots = {"drink": ["tea", "mocha"], "milk": ["oat milk"]}
    reply = StoredReply(utterances=("hello",), says=("Hi.",))
    text = reply_text([reply], slots=slots, forms=forms, joints=["with"])
    found = parse_forms(text, "written", ENGLISH)
    assert found is not None
    filled = found.match("a tea with oat milk")
    assert filled is not None
    assert (filled.text, filled.form) == ("Tea with oat milk?", forms[0])
    assert parse_replies(text, "written") == [reply]
    assert parse_forms(reply_text([reply]), "written", ENGLISH) is None
