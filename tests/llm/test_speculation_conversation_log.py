"""Logs, from an application and from our own runs."""

import json
from pathlib import Path

import pytest

from turngap.budget.errors import ConfigurationError
from turngap.budget.report.record import TurnRecord
from turngap.llm.speculation.conversation_log import Logged, exchanges, parse_log, read_log
from turngap.llm.speculation.learning import Exchange

TURNS = [
    {"speaker": "agent", "text": "Is that right?", "state": "confirming"},
    {"speaker": "user", "text": "Yes.", "slots": {"drink": "tea"}},
    {"speaker": "agent", "text": "Soon.", "act": "finish"},
]
EXCHANGE = Exchange(
    after="Is that right?", said="Yes.", reply="Soon.", state="confirming", act="finish", slots=(("drink", "tea"),)
)


def test_each_line_is_a_conversation() -> None:
    line = json.dumps({"turns": TURNS})
    assert parse_log(f"{line}\n\n{line}\n", "log") == [[EXCHANGE], [EXCHANGE]]
    assert parse_log(line, "log") == [[EXCHANGE]]


def test_a_turn_that_was_not_answered_or_not_heard_is_left_out() -> None:
    user, agent = Logged(by_user=True, text="Yes."), Logged(by_user=False, text="Soon.")
    silent = Logged(by_user=False, text=" ")
    assert list(exchanges([user, user, agent])) == [Exchange(after="", said="Yes.", reply="Soon.")]
    assert list(exchanges([user, silent, Logged(by_user=True, text=""), agent])) == []
    assert list(exchanges([])) == []


def record(turn: int, transcript: str | None, reply: str | None) -> dict[str, object]:
    return TurnRecord(name="clip", turn=turn, transcript=transcript, reply=reply).to_json()


def test_a_run_has_a_conversation_from_each_turn_1() -> None:
    run = {"per_turn": [record(1, "Hi.", "Hello."), record(2, "A tea.", None), record(1, "Bye.", "Bye.")]}
    found = parse_log(json.dumps(run, indent=1), "run.json")
    assert [[each.said for each in conversation] for conversation in found] == [["Hi."], ["Bye."]]
    saved = {"turns": [record(1, "Hi.", "Hello."), record(2, "A tea.", "Soon.")], "events": []}
    ((first, second),) = parse_log(json.dumps(saved), "saved.json")
    assert (first.after, second.after) == ("", "Hello.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"turns": []}\nno', "log:2 is no JSON"),
        ("[]", "log is no conversation"),
        ('{"turns": [1]}', "log is no conversation"),
        ('{"turns": [{"speaker": "bot", "text": ""}]}', "log: turn 1: speaker is 'bot'"),
        ('{"turns": [{"speaker": "user", "text": 1}]}', "log: turn 1: text, state and act are texts"),
        ('{"turns": [{"speaker": "user", "text": "a", "state": 1}]}', "log: turn 1: text, state and act are texts"),
        ('{"turns": [{"speaker": "user", "text": "a", "slots": []}]}', "log: turn 1: slots are no texts by name"),
        ('{"turns": [{"speaker": "user", "text": "a", "slots": {"a": 1}}]}', "log: turn 1: slots are no texts by name"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_log(text, "log")


def test_a_log_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_log(tmp_path / "none")
    (tmp_path / "log").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="is not text"):
        read_log(tmp_path / "log")
    (tmp_path / "log").write_text(json.dumps({"turns": TURNS}), "utf-8")
    assert read_log(tmp_path / "log") == [[EXCHANGE]]
