"""What earlier dialogues teach, and what they do not."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.llm.speculation.carried import Common, unfounded
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.learning import WORDINGS, Evidence, Exchange, alike, learn
from turngap.llm.speculation.replies import Replies
from turngap.llm.speculation.stored import StoredReply

RIGHT = "Is that right?"
READY = "Your tea will be ready soon."


def ask(said: str, reply: str, after: str = "", *, state: str = "", act: str = "") -> list[Exchange]:
    """A dialogue of one exchange."""
    return [Exchange(after=after, said=said, reply=reply, state=state, act=act)]


def learned(*dialogues: Sequence[Exchange], dialogues_needed: int = 3, share: float = 0.6) -> list[StoredReply]:
    return learn(dialogues, ENGLISH, Evidence(dialogues=dialogues_needed, share=share))


def test_what_was_answered_alike_in_three_dialogues_is_known_after_what_was_asked() -> None:
    found = learned(*[ask("Yes.", READY, RIGHT)] * 3)
    assert found == [StoredReply(utterances=("Yes.",), says=(READY,), state=RIGHT, source="log")]


def test_two_dialogues_are_too_few_and_so_is_one_that_says_it_three_times() -> None:
    assert learned(*[ask("Yes.", READY, RIGHT)] * 2) == []
    assert learned(ask("Yes.", READY, RIGHT) * 3) == []
    assert learned(*[ask("Yes.", READY, RIGHT)] * 2, dialogues_needed=2) != []


def test_a_turn_that_leads_elsewhere_too_often_is_not_known() -> None:
    same, other = [ask("Yes.", READY, RIGHT)] * 3, ask("Yes.", "What is your name?", RIGHT)
    assert learned(*same, other)
    assert not learned(*same, other, other, other)


def test_turns_that_say_the_same_are_one_and_their_replies_take_turns() -> None:
    replies = ["It will be ready soon.", "It will be ready very soon.", "Soon it will be ready!", "It is ready soon."]
    asked = ["When do you open", "what time do you open", "When do you guys open", "Hi, when do you open?"]
    (found,) = learned(*[ask(said, reply) for said, reply in zip(asked, replies, strict=True)])
    assert found.utterances == tuple(asked)
    assert len(found.says) <= WORDINGS
    assert set(found.says) <= set(replies)


def test_a_turn_that_says_something_by_itself_is_known_anywhere() -> None:
    places = ["Hello.", "What else?", "It is four pounds."]
    (found,) = [each for each in learned(*[ask("Where is the exit", "On your left.", at) for at in places])]
    assert found.state == ""


@pytest.mark.parametrize("said", ["yes", "that one", "no", "five", "no, she is not"])
def test_an_answer_is_known_nowhere_but_where_it_answers(said: str) -> None:
    places = ["Hello.", "What else?", "It is four pounds."]
    assert learned(*[ask(said, "All right.", at) for at in places]) == []
    assert {each.state for each in learned(*[ask(said, "All right.", "Now?")] * 3)} == {"Now?"}


def test_only_the_last_sentence_of_what_led_to_it_has_to_be_the_same() -> None:
    afters = [f"{before} {RIGHT}" for before in ("One tea.", "A cake.", "Two rolls.")]
    (found,) = learned(*[ask("Yes.", READY, at) for at in afters])
    assert found.state == RIGHT


def test_what_the_agent_asked_about_is_enough_where_it_is_asked_in_many_ways() -> None:
    asked = [
        "Is this order correct?",
        "Can you confirm that the order is correct before I send it?",
        "Please say if the orders are correct.",
    ]
    (found,) = learned(*[ask("Yes.", READY, at) for at in asked])
    assert (found.state, found.says) == ("* correct order", (READY,))
    store = Replies(ENGLISH)
    store.add(found)
    assert store.match("Great! Does the order look correct on the screen?", "yes")
    assert store.match("Would you like to order a cake?", "yes") is None
    assert not learned(*[ask("Yes.", READY, at) for at in asked[:2]])


def test_numbers_and_what_is_denied_tell_no_topic() -> None:
    asked = ["Table 4 at the door?", "The door to table 4?", "Table 4 by any door?"]
    assert [each.state for each in learned(*[ask("Yes.", READY, at) for at in asked])] == ["* door table"]
    denied = ["Not the door, table?", "Never the door for a table?", "No door, a table?"]
    assert not any(each.state.startswith("*") for each in learned(*[ask("Yes.", READY, at) for at in denied]))


def test_a_state_that_has_a_name_is_known_by_it() -> None:
    afters = ["Is it right?", "All correct?", "Shall I send it?"]
    (found,) = learned(*[ask("Yes.", READY, at, state="confirming") for at in afters])
    assert found.state == "confirming"


def test_replies_that_are_called_the_same_are_alike_in_any_words() -> None:
    said = ["The bar has it ready soon.", "Soon at the bar.", "Ready at the bar."]
    named = [ask("Yes.", reply, RIGHT, act="finish") for reply in said]
    assert learned(*named)
    assert not learned(*[ask("Yes.", reply, RIGHT, act=reply) for reply in ("Soon.", "Very soon.", "So soon.")][:2])
    one, two = (Exchange(after="", said="", reply="Soon.", act=act) for act in ("finish", "wait"))
    assert alike(one, two, ENGLISH)  # in the same words, whatever they are called
    other = Exchange(after="", said="", reply="Very soon now.", act="wait")
    assert not alike(one, other, ENGLISH)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("It will be ready soon.", "It'll be ready very soon!", True),
        ("You're welcome. Have a great day!", "Thank you, goodbye.", True),
        ("Have a great day!", "Anything else?", False),
        ("It is ready.", "It is not ready.", False),
        ("It is ready.", "Is it ready?", False),
        ("At seven.", "At eight.", False),
        ("The bar opens at seven.", "The bar opens at eight.", False),
        ("It will be ready soon.", "What is your name?", False),
    ],
)
def test_replies_are_alike_if_they_have_half_their_words_in_common(one: str, two: str, same: bool) -> None:
    first, second = (Exchange(after="", said="", reply=text) for text in (one, two))
    assert alike(first, second, ENGLISH) is same
    assert alike(second, first, ENGLISH) is same


@pytest.mark.parametrize(
    "reply",
    [
        "It costs 4 pounds.",
        "Come on Monday.",
        "Please ask Anna.",
        "We do not have that.",
        "See you in May, I mean June.",
    ],
)
def test_what_only_one_dialogue_can_know_is_not_learned(reply: str) -> None:
    assert learned(*[ask("Where is the exit", reply, "Hello.")] * 3) == []


def test_a_number_that_was_just_named_may_be_said_again() -> None:
    assert learned(*[ask("For two please", "For two, very well.", "How many?")] * 3)
    assert learned(*[ask("Yes.", "Two teas it is.", "Two teas?")] * 3)


def test_what_each_user_had_ordered_before_is_not_learned() -> None:
    dialogue = [
        Exchange(after="", said="a mocha", reply=RIGHT),
        Exchange(after=RIGHT, said="Yes.", reply="The mocha will be ready soon."),
    ]
    assert [each.utterances for each in learned(*[dialogue] * 3)] == [("a mocha",)]


def test_words_that_only_one_reply_has_are_not_learned() -> None:
    replies = ["It will be ready soon, mate.", "It will be ready soon.", "It will be ready soon now."]
    (found,) = learned(*[ask("Yes.", reply, RIGHT) for reply in replies])
    assert "It will be ready soon, mate." not in found.says


def test_only_so_many_are_taken_over_those_with_most_evidence_first() -> None:
    log = [ask("Where is the exit", "Left.", "Hello.")] * 3 + [ask("Where is the bar", "Right.", "Hello.")] * 5
    found = learn(log, ENGLISH, Evidence(most=1))
    assert [each.says for each in found] == [("Right.",)]
    assert len(learn(log, ENGLISH)) == 2


def test_names_are_told_by_their_capitals_unless_others_write_them_small() -> None:
    common = Common(["we like Tea here", "some tea"])
    assert common.names("Ask Anna about Tea, I say.") == {"anna"}
    assert unfounded("Ask Anna about Tea.", ["is anna there"], common, ENGLISH) == frozenset()
    assert unfounded("Ask Anna on Monday at 5.", [], common, ENGLISH) == {"anna", "monday", "5"}


SAID = st.sampled_from(["yes", "no", "Where is the exit", "a tea please", "two teas", "Thanks", ""])
REPLIES = st.sampled_from(["Left.", "Right.", READY, "Have a nice day.", "For 2?", "Anything else?"])
EXCHANGES = st.builds(Exchange, after=st.sampled_from(["", "Hello.", RIGHT]), said=SAID, reply=REPLIES)


@given(st.lists(st.lists(EXCHANGES, max_size=3), max_size=8))
def test_whatever_is_learned_was_said_and_is_found_again(log: list[list[Exchange]]) -> None:
    store = Replies(ENGLISH)
    found = learn(log, ENGLISH, Evidence(dialogues=2, share=0.5))
    for each in found:
        store.add(each)
        given_to = [one for dialogue in log for one in dialogue if one.said in each.utterances]
        assert set(each.says) <= {one.reply for one in given_to}
    for each in found:
        assert all(store.match(each.state, said) for said in each.utterances)
