"""Asking a model for the user's next words: the same dialogue with the roles changed. Pure.

Told to list what a user may say, a small model goes on as an assistant, or as a bad playwright. With the roles
changed it does what it is made for: it is spoken to, and answers. It answers a question with an apology as often as
not, which is what it was trained for; but made to begin with "Yes" or "No" it goes on as a user would. So each thing
that may be said grows from a *beginning*, and only its first sentence counts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from turngap.llm.protocol import Message, Role

MOST_WORDS: Final = 12
"""What is longer will not be said word by word."""

STRETCH: Final = 3
"""Words that two sentences may share by chance, and one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal:
    """What puts a model into the user's place, in the user's language."""

    system: str
    greeting: str
    """What the user has answered with the first words, where the dialogue does not begin with ours."""
    example: tuple[tuple[str, str], ...]
    """A short dialogue that shows how users talk: what is said to them, and their answer."""
    beginnings: tuple[str, ...]
    """How the user's next words may begin, the likeliest first."""


ENGLISH: Final = Reversal(
    system="You are a customer. Somebody serves you. Answer in a few words.",
    greeting="Hello, what can I do for you?",
    example=(("Hello, what can I do for you?", "I have a question, please."), ("Is that right?", "Yes, it is.")),
    beginnings=("Yes", "No", "Can I"),
)


def reversed_roles(messages: Sequence[Message], reversal: Reversal) -> tuple[Message, ...]:
    """The dialogue of ``messages`` as the user sees it, to be answered by the user; ours has to be the last word."""
    talk = [message for message in messages if message.role is not Role.SYSTEM]
    if not talk or talk[0].role is Role.USER:
        talk.insert(0, Message(Role.ASSISTANT, reversal.greeting))
    shown = [part for said, answer in reversal.example for part in (_said_to_user(said), _answered(answer))]
    turned = (
        _said_to_user(message.content) if message.role is Role.ASSISTANT else _answered(message.content)
        for message in talk
    )
    return (Message(Role.SYSTEM, reversal.system), *shown, *turned)


def utterance(text: str) -> str | None:
    """The first sentence of ``text`` once it is complete and short enough to be said, else None."""
    match = re.match(r"\s*[\"“]?([^\n.!?。！？]*(?:\.\d[^\n.!?。！？]*)*[.!?。！？])(?=\s|[\"”]|$)", text)
    if match is None:
        return None
    sentence = match[1].strip()
    return sentence if len(sentence.split()) <= MOST_WORDS and plain(sentence) else None


def whole_sentences(text: str) -> str:
    """``text`` up to the end of its last complete sentence; empty if it has none."""
    return text[: max(text.rfind(mark) for mark in ".!?。！？") + 1].strip()


def new(sentence: str, said: Sequence[str]) -> bool:
    """Whether ``sentence`` is not what somebody has just said: a model that knows no better says it back."""
    words = plain(sentence)
    return not any(_holds(words, other) or _holds(other, words) for other in map(plain, said))


def _holds(whole: str, part: str) -> bool:
    """Whether ``part`` is all of ``whole``, or a stretch of it too long for chance."""
    return part == whole or (len(part.split()) >= STRETCH and f" {part} " in f" {whole} ")


def plain(text: str) -> str:
    """The words of ``text`` without case and punctuation: texts that are the same so are said the same."""
    return " ".join(_words(text))


def _words(text: str) -> Iterator[str]:
    for word in text.casefold().replace("’", "'").split():
        if kept := "".join(letter for letter in word if letter.isalnum() or letter == "'").strip("'"):
            yield kept


def _said_to_user(text: str) -> Message:
    return Message(Role.USER, text)


def _answered(text: str) -> Message:
    return Message(Role.ASSISTANT, text)
