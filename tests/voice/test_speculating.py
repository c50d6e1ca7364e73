"""Speculation by name."""

from pathlib import Path

import pytest

from turngap.budget.errors import ConfigurationError
from turngap.llm.spec import Spec
from turngap.llm.speculation.policy import Running
from turngap.voice.engine import Engine
from turngap.voice.manner import Speculation
from turngap.voice.settings import Settings
from turngap.voice.speculating import SPECULATION, same


def made(text: str) -> Speculation:
    return SPECULATION.make(Spec.parse(text), mark="here")


def test_each_name_begins_more_before_it_is_wanted() -> None:
    assert not made("none").at_pause
    assert made("pause").at_pause
    assert made("pause").openers is None
    assert made("full").openers is not None
    assert made("full?openers=off").openers is None
    assert made("full?uncovered=50").supposes(Running(words=("yes",), uncovered_ms=40))


def test_each_conversation_begins_with_another_opener() -> None:
    fakes = Settings(llm="scripted?reply=Yes.", asr="scripted", voice="tone", endpointing="fixed?vad=energy")
    engine = Engine(fakes, find_model=Path, clock=lambda: 0)
    assert [engine.manner().speculation.first_opener for _ in range(3)] == [0, 1, 2]


def test_known_replies_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.toml"
    path.write_text('[[reply]]\nwhen = ["when do you open"]\nsay = "At seven."\n', "utf-8")
    replies = made(f"full?replies={path}").replies
    assert replies is not None
    match = replies.match("", "When do you open?")
    assert match is not None
    assert match.text == "At seven."


@pytest.mark.parametrize("text", ["psychic", "none?openers=on", "full?openers=perhaps", "full?replies=/nowhere.toml"])
def test_what_is_no_choice_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        made(text)
    assert refused.value.remedy


def test_two_wordings_of_the_same_are_the_same() -> None:
    assert same("Um, two small lattes.", "2 small lattes")
    assert not same("two small lattes", "three small lattes")
