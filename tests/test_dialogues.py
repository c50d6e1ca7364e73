"""What the readers of public dialogue sets make of their files; the texts are made up."""

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

sys.path.append(str(Path(__file__).parent.parent / "scripts"))
from dialogues import SETS, Dialogue, Said, dialogue, dstc10, multiwoz, sgd, star, taskmaster

from turngap.llm.speculation.learning import Exchange


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path.parent


def test_turns_of_one_speaker_in_a_row_are_one() -> None:
    said = [
        Said(False, "Hello.", "greeting", frozenset(["greet"])),
        Said(True, "A tea", slots=(("drink", "tea"),)),
        Said(True, "please."),
        Said(False, "Sure.", "", frozenset(["accept"])),
        Said(False, "Milk?", "ask milk", frozenset(["ask"])),
        Said(True, "No."),
        Said(False, "Fine."),
        Said(True, "Bye."),
    ]
    found = dialogue("one", said)
    assert found.exchanges == (
        Exchange(
            after="Hello.",
            said="A tea please.",
            reply="Sure. Milk?",
            state="greeting",
            act="accept ask",
            slots=(("drink", "tea"),),
        ),
        Exchange(after="Sure. Milk?", said="No.", reply="Fine.", state="ask milk"),
    )
    assert found.acts == (frozenset(["accept", "ask"]), None)


def test_the_halves_are_the_same_in_every_run() -> None:
    halves = [Dialogue(id=str(number), exchanges=(), acts=()).learned for number in range(200)]
    assert halves[:4] == [False, False, True, True]
    assert 80 < sum(halves) < 120


def test_coffee_orders_tell_their_slots_and_what_was_called(tmp_path: Path) -> None:
    calls = [
        {"name": "api_call", "value": "get_menu_items"},
        {"name": "request", "value": '{"query": "Mocha"}'},
        {"name": "api_call", "value": "add_order_item"},
        {
            "name": "request",
            "value": '{"menu_item_id": "1", "attributes": [{"attribute_id": "Milk", "option": "Oat milk"}]}',
        },
        {"name": "request", "value": "broken"},
    ]
    turns = [
        {"speaker": "user", "text": "a mocha with oat milk", "annotations": calls},
        {"speaker": "assistant", "text": "Right?", "annotations": []},
        {"speaker": "user", "text": "yes", "annotations": []},
        {"speaker": "assistant", "text": "Soon.", "annotations": []},
    ]
    (found,) = taskmaster(write(tmp_path / "data_1.json", [{"conversation_id": "a", "utterances": turns}]))
    first, second = found.exchanges
    assert first.slots == (("drink", "Mocha"), ("milk", "Oat milk"))
    assert (first.act, second.state, second.act) == ("add_order_item", "add_order_item", "none")


def test_star_has_what_was_said_and_no_instructions(tmp_path: Path) -> None:
    events = [
        {"Action": "instruct", "Agent": "UserGuide", "Text": "Be confused."},
        {"Action": "utter", "Agent": "User", "Text": "Hello"},
        {"Action": "pick_suggestion", "Agent": "Wizard", "Text": "Hello!", "ActionLabel": "hello"},
        {"Action": "utter", "Agent": "User", "Text": "Bye"},
        {"Action": "utter", "Agent": "Wizard", "Text": "Bye!"},
    ]
    (found,) = star(write(tmp_path / "dialogues" / "1.json", {"Events": events}).parent)
    assert [(each.said, each.state) for each in found.exchanges] == [("Hello", ""), ("Bye", "hello")]
    assert found.acts == (frozenset(["hello"]), None)


def test_sgd_states_have_no_values_and_acts_do(tmp_path: Path) -> None:
    frames = [{"actions": [{"act": "CONFIRM", "slot": "time", "values": ["5 pm"]}], "slots": []}]
    spans = [{"actions": [], "slots": [{"slot": "time", "start": 3, "exclusive_end": 7}]}]
    turns = [
        {"speaker": "USER", "utterance": "At 5 pm", "frames": spans},
        {"speaker": "SYSTEM", "utterance": "5 pm?", "frames": frames},
        {"speaker": "USER", "utterance": "Yes", "frames": []},
        {"speaker": "SYSTEM", "utterance": "Done.", "frames": []},
    ]
    (found,) = sgd(write(tmp_path / "dialogues_001.json", [{"dialogue_id": "a", "turns": turns}]))
    assert found.exchanges[0].slots == (("time", "5 pm"),)
    assert found.exchanges[0].act == "CONFIRM time 5 pm"
    assert found.exchanges[1].state == "CONFIRM.time"


def test_multiwoz_words_are_joined_as_they_were(tmp_path: Path) -> None:
    log = [
        {
            "text": "I do n't mind , a cheap hotel .",
            "dialog_act": {"Hotel-Inform": [["Price", "cheap"], ["Area", "west"]]},
        },
        {"text": "It 's booked .", "dialog_act": {"Booking-Book": [["Ref", "X1"]]}},
        {"text": "Bye", "dialog_act": {}},
        {"text": "Bye .", "dialog_act": "No Annotation"},
    ]
    with ZipFile(tmp_path / "val.json.zip", "w") as archive:
        archive.writestr("val.json", json.dumps({"a": {"log": log}}))
    (found,) = multiwoz(tmp_path)
    first, second = found.exchanges
    assert (first.said, first.reply) == ("I don't mind, a cheap hotel.", "It's booked.")
    assert first.slots == (("Price", "cheap"),)
    assert (first.act, second.state) == ("Booking-Book Ref X1", "Booking-Book.Ref")
    assert found.acts[1] is None


def test_of_logs_up_to_some_turn_the_longest_counts(tmp_path: Path) -> None:
    turns = [{"speaker": "U", "text": "hi"}, {"speaker": "S", "text": "hello"}, {"speaker": "U", "text": "a museum"}]
    write(tmp_path / "logs.json", [turns[:1], turns])
    write(tmp_path / "labels.json", [{"target": False}, {"target": True, "response": "sure"}])
    (found,) = dstc10(tmp_path)
    assert [(each.said, each.reply) for each in found.exchanges] == [("hi", "hello"), ("a museum", "sure")]


@pytest.mark.parametrize("name", SETS)
def test_a_set_that_is_not_there_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no"):
        list(SETS[name](tmp_path))
