"""Which of the replies that are known answers what is being said."""

from typing import Any

import numpy as np
import pytest

from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.replies import Match, Replies, Vector
from turngap.llm.speculation.stored import Piece, StoredReply


def reply(*utterances: str, say: str | tuple[str, ...] = "Sure.", **more: Any) -> StoredReply:
    return StoredReply(utterances=utterances, says=(say,) if isinstance(say, str) else say, **more)


def stored(*replies: StoredReply, **limits: Any) -> Replies:
    store = Replies(ENGLISH, **limits)
    for each in replies:
        store.add(each)
    return store


def found(store: Replies, words: str, state: str = "") -> Match:
    match = store.match(state, words)
    assert match is not None
    return match


def near(cosine: float) -> Vector:
    return np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)


def test_the_same_words_are_an_exact_match() -> None:
    match = found(stored(reply("When do you open?", say="At seven.")), "um, when do you open")
    assert (match.text, match.how, match.score, match.known) == ("At seven.", "exact", 1.0, "When do you open?")


def test_other_words_of_the_same_meaning_are_a_paraphrase() -> None:
    match = found(stored(reply("When do you open?")), "could you tell me what time you open")
    assert (match.how, match.score) == ("paraphrase", None)


def test_a_slot_that_differs_is_no_match() -> None:
    store = stored(reply("A table for two on Friday."))
    assert store.match("", "A table for three on Friday.") is None
    assert store.match("", "A table for two on Saturday.") is None
    assert store.match("", "No table for two on Friday.") is None
    assert store.match("", "um") is None


def test_an_embedding_that_is_far_refuses_a_paraphrase() -> None:
    store = stored(reply("When do you open?"))
    store.learn({"when do you open": near(1), "something else": near(0)})
    said = "what time do you open"
    assert store.match("", said, similar=lambda _: near(0.2)) is None
    close = store.match("", said, similar=lambda _: near(0.8))
    assert close is not None
    assert close.score == pytest.approx(0.8)


def test_an_embedding_that_is_not_there_yet_is_not_waited_for() -> None:
    store = stored(reply("When do you open?"))
    store.learn({"when do you open": near(1)})
    match = store.match("", "what time do you open", similar=lambda _: None)
    assert match is not None
    assert match.score is None


def test_what_is_still_to_be_embedded_is_known() -> None:
    store = stored(reply("When do you open?", "Are you open?"), reply("When do you open?", state="hours"))
    assert store.unlearned() == ["when do you open", "are you open"]
    store.learn({"when do you open": near(1)})
    assert store.unlearned() == ["are you open"]


def test_a_reply_for_a_state_answers_in_that_state_only() -> None:
    store = stored(reply("yes", say="Here it is.", state="Would you like a receipt?"))
    assert store.match("", "yes") is None
    assert store.match("Anything else?", "yes") is None
    assert found(store, "yeah", "would you like a receipt").text == "Here it is."
    assert found(store, "yeah", "Five euros, please. Would you like a receipt?").text == "Here it is."


def test_a_state_goes_before_anywhere() -> None:
    store = stored(reply("yes", say="Anywhere."), reply("yes", say="Here.", state="menu"))
    store.add(reply("yes", say="Here.", state="menu"))
    assert found(store, "yes", "menu").text == "Here."
    assert found(store, "yes", "elsewhere").text == "Anywhere."


def test_several_replies_take_turns_as_they_are_spoken() -> None:
    store = stored(reply("thanks", say=("Sure.", "Any time.")))
    first = found(store, "thank you")
    assert found(store, "thank you").text == first.text == "Sure."
    store.said(first)
    second = found(store, "thank you")
    assert second.text == "Any time."
    store.said(second)
    assert found(store, "thank you").text == "Sure."


def test_what_was_spoken_may_be_gone_by_then() -> None:
    store = stored(reply("thanks"))
    match = found(store, "thanks")
    store.add(reply("thanks", say=("Other.", "Another.")))
    store.said(match)
    assert found(store, "thanks").text == "Other."
    Replies(ENGLISH).said(match)


def test_a_later_reply_takes_over_unless_its_source_is_worse() -> None:
    store = stored(reply("yes", say="Guessed.", source="predicted"), reply("yes", "no", say="Logged.", source="log"))
    assert found(store, "yes").text == "Logged."
    assert len(store) == 1
    store.add(reply("yes", say="Guessed again.", source="predicted"))
    assert found(store, "yes").text == "Logged."
    store.add(reply("yes", say="Written."))
    assert found(store, "yes").text == "Written."
    assert found(store, "no").text == "Logged."
    assert [each.says for each in store] == [("Written.",), ("Logged.",)]


def test_two_ways_to_write_a_turn_are_one() -> None:
    store = stored(reply("yes", "Yes, please!", "um"))
    assert found(store, "yes please").known == "yes"
    assert len(store) == 1


def test_a_reply_that_nothing_leads_to_is_not_kept() -> None:
    store = stored(reply("um"))
    assert len(store) == 0
    assert store.size == 0


def test_the_least_recently_used_goes_first() -> None:
    store = stored(reply("one two three"), reply("open"), max_entries=2)
    store.learn({"open": near(1)})
    found(store, "one two three")
    store.add(reply("close"))
    assert store.match("", "open") is None
    assert found(store, "one two three").how == "exact"
    store.add(reply("open"))
    assert store.unlearned() == ["123", "open"]


def test_bytes_are_bounded_too() -> None:
    audio = Piece(text="Sure.", samples=np.zeros(1000, np.int16), rate_hz=16_000)
    store = stored(*(reply(word, spoken={"Sure.": (audio,)}) for word in ("open", "close", "go")), max_bytes=4500)
    assert len(store) == 2
    assert store.match("", "open") is None
    assert 4000 < store.size <= 4500
    store.add(reply("huge " * 2000))
    assert (len(store), store.size) == (0, 0)


def test_two_turns_with_the_same_words_in_another_order_are_kept_apart() -> None:
    store = stored(reply("from Rome to Paris", say="West."), reply("from Paris to Rome", say="South."))
    assert found(store, "please from Paris to Rome").text == "South."
    store.add(reply("from Rome to Paris", say="North-west."))
    assert found(store, "I want to get from Rome to Paris").text == "North-west."


def test_explaining_shows_what_would_be_said_and_why_the_rest_is_not() -> None:
    store = stored(
        reply("a tea with sugar", "a tea", "a latte", "a tee with sugar"), reply("a tea with sugar", state="night")
    )
    shown = [
        (each.known, each.how, each.score, each.refusal) for each in store.explain("", "I'd like a tea with sugar")
    ]
    assert shown[0] == ("a tea with sugar", "paraphrase", None, None)
    assert ("a tea", "paraphrase", None, "words: only one of them says sugar") in shown
    assert ("a tea with sugar", "paraphrase", None, "state: only after “night”") in shown
    exact, *_ = store.explain("", "a tea with sugar", limit=1)
    assert (exact.how, exact.score, exact.refusal) == ("exact", 1.0, None)


def test_explaining_tells_the_distance() -> None:
    store = stored(reply("a tea"))
    store.learn({"a tea": near(1)})
    (far,) = store.explain("", "I'd like a tea", similar=lambda _: near(0.25))
    assert far.refusal == "distance: 0.25 is below 0.50"
    (close,) = store.explain("", "I'd like a tea", similar=lambda _: near(0.75))
    assert close.refusal is None


def test_a_state_is_known_in_other_words_that_say_the_same() -> None:
    store = stored(reply("yes", state="Could you tell me what time you close?"))
    assert found(store, "yes", "When do you close?").text == "Sure."
    assert store.match("When do you open?", "yes") is None
    assert store.match("When don't you close?", "yes") is None


def test_a_state_is_forgotten_with_its_last_turn() -> None:
    asked = "Would you like a receipt?"
    first, second = reply("yes", state=asked), reply("no", state=asked)
    store = stored(first, second, reply("maybe"), max_entries=2)
    assert store.match(asked, "yes") is None
    store.add(reply("hello"))
    assert store.match(asked, "no") is None
    store.add(reply("no", say="Fine.", state=asked))
    assert found(store, "no", asked).text == "Fine."


def test_of_two_states_that_say_the_same_each_keeps_its_place() -> None:
    store = stored(reply("yes", state="When do you close?"), reply("no", state="At what time do you close?"))
    assert len(store) == 2
    assert store.match("what time do you close", "yes")
    assert store.match("what time do you close", "no")
    store.add(reply("no", say="Never.", state="At what time do you close?"))
    assert store.match("When do you close?", "yes")


def test_a_state_may_tell_only_what_it_is_about() -> None:
    store = stored(reply("yes", say="Soon.", state="* order correct"), reply("yes", say="Hm.", state="* order"))
    assert found(store, "yes", "Hello! Can you confirm that this order is correct?").text == "Soon."
    assert found(store, "yes", "Shall I order?").text == "Hm."
    assert store.match("Is the order correct? And a cake?", "yes") is None
    assert store.match("Is this correct?", "yes") is None
    assert found(store, "yes", "The order is not correct.").text == "Hm."


def test_what_it_is_about_is_told_in_any_order_and_in_other_forms() -> None:
    store = stored(reply("yes", say=("Soon.", "In a moment."), state="* correct orders"))
    match = found(store, "yes", "Are the orders correct?")
    assert match.text == "Soon."
    store.said(match)
    assert found(store, "yes", "Your order: is it correct?").text == "In a moment."


def test_what_a_state_is_about_is_forgotten_with_its_last_turn() -> None:
    store = stored(reply("yes", state="* order correct"), max_entries=1)
    assert store.match("Is the order correct?", "yes")
    store.add(reply("hello"))
    assert store.match("Is the order correct?", "yes") is None
    (candidate,) = store.explain("Is the order correct?", "hello")
    assert candidate.refusal is None
