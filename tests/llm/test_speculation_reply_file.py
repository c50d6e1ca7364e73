"""The file of replies that a developer writes."""

from pathlib import Path

import pytest

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.reply_file import parse_replies, read_replies
from turngap.llm.speculation.stored import StoredReply

FILE = """
[intents.hours]
utterances = ["when do you open", "what are your opening hours"]

[[reply]]
intent = "hours"
when = "are you open"
say = "We open at seven."

[[reply]]
when = ["yes", " yes please "]
after = "Would you like a receipt?"
say = ["Here you are.", "There you go."]
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "replies.toml"
    path.write_text(FILE, "utf-8")
    hours = ("when do you open", "what are your opening hours", "are you open")
    assert read_replies(path) == [
        StoredReply(utterances=hours, says=("We open at seven.",), intent="hours"),
        StoredReply(
            utterances=("yes", "yes please"), says=("Here you are.", "There you go."), state="Would you like a receipt?"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("reply =", r"mine is not TOML.*Write \[\[reply\]\]"),
        ("replies = 1", "mine has an unknown key 'replies'. Known: reply, intents"),
        ("reply = 1", r"mine: reply is no list of tables. Write \[\[reply\]\]"),
        ("[reply]", "mine: reply is no list of tables"),
        ("intents = 1", "mine: intents are no tables"),
        ("[intents]\nhours = ['when']", "mine: intents are no tables"),
        ("[intents.hours]\nwords = ['when']", "mine: intent 'hours' has an unknown key 'words'"),
        ("[intents.hours]", "mine: intent 'hours': utterances is missing"),
        ("[[reply]]\nwhen = 'a'\nsay = 'b'\n[[reply]]\nsay = 'c'", "mine: reply 2 does not say when it is said"),
        ("[[reply]]\nwhen = 'a'", 'mine: reply 1: say is missing. Write say = "..."'),
        ("[[reply]]\nwhen = 'a'\nsay = []", r"mine: reply 1: say is \[\]"),
        ("[[reply]]\nwhen = 'a'\nsay = ' '", "mine: reply 1: say is ' '"),
        ("[[reply]]\nwhen = [1]\nsay = 'b'", r"mine: reply 1: when is \[1\]"),
        ("[[reply]]\nwhen = 'a'\nsay = 'b'\nafter = 1", 'mine: reply 1: after is 1. Write after = "..."'),
        (
            "[[reply]]\nintent = 'hours'\nsay = 'b'",
            "mine: reply 1 is for intent 'hours', which there is not. Known: none",
        ),
        (
            "[[reply]]\nwhen = 'a'\nsays = 'b'",
            "mine: reply 1 has an unknown key 'says'. Known: say, when, intent, after",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_remedy(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        parse_replies(text, "mine")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml cannot be read: No such file"):
        read_replies(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigurationError, match=r"is not text.*Save it as UTF-8"):
        read_replies(tmp_path / "binary.toml")
