"""What was really said by both sides: the dialogue as the model is to see it on the next turn.

Nothing is written here on its own. The caller writes when a reply has passed the point of no return, and then only
as much of it as was heard; a draft is asked for with :meth:`History.messages_with` and leaves no trace.

A contribution may be written under a key, by which it can be cut short or taken out again later: a client that played
less than was sent says so when it knows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from turngap.llm.protocol import Message, Role


class Contribution(NamedTuple):
    """What one side said, and its name; it may be empty."""

    key: str
    message: Message


class History:
    """A system prompt and the contributions so far."""

    def __init__(self, system: str = "") -> None:
        self.system = system
        self._said: list[Contribution] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything so far, the system prompt first."""
        return self.messages_with("")

    def user(self, text: str, *, key: str = "") -> None:
        """The user said ``text``; with no reply heard in between, it joins the user's own last words."""
        self.add(key, Role.USER, text)

    def assistant(self, heard: str, *, key: str = "") -> None:
        """The user heard ``heard`` of our reply; more of the same reply joins it."""
        self.add(key, Role.ASSISTANT, heard)

    def add(self, key: str, role: Role, text: str, *, after: str | None = None) -> None:
        """``role`` contributed ``text``, after the contribution ``after``, which is the first one's if it is empty; at
        the end where None is given, or no such contribution is known."""
        at = len(self._said)
        if after is not None:
            places = [place for place, each in enumerate(self._said, start=1) if each.key == after]
            at = places[-1] if places else (at if after else 0)
        self._said.insert(at, Contribution(key, Message(role, text.strip())))

    def revise(self, key: str, text: str) -> None:
        """The contribution ``key`` is only this; harmless if there is none."""
        for place, each in enumerate(self._said):
            if each.key == key:
                self._said[place] = Contribution(key, Message(each.message.role, text.strip()))

    def forget(self, key: str) -> None:
        """Take the contribution ``key`` out; harmless if there is none."""
        self._said = [each for each in self._said if each.key != key]

    def messages_with(self, user_text: str, *, opener: str = "", system: str | None = None) -> tuple[Message, ...]:
        """The prompt for a reply to ``user_text`` that begins with ``opener``, and with another ``system`` prompt where
        one is given; the history itself does not change."""
        prompt = self.system if system is None else system
        asked: list[Message] = [Message(Role.SYSTEM, prompt)] if prompt else []
        for each in self._said:
            asked = _joined(asked, each.message)
        asked = _joined(asked, Message(Role.USER, user_text.strip()))
        return (*asked, Message(Role.ASSISTANT, opener)) if opener.strip() else tuple(asked)


def parted(messages: Sequence[Message]) -> tuple[tuple[Message, ...], str]:
    """What a reply answers, and the opener that it begins with, which is empty for most."""
    if not messages or messages[-1].role is not Role.ASSISTANT:
        return tuple(messages), ""
    opener = messages[-1].content
    return tuple(messages[:-1]), opener if opener.strip() else ""


def _joined(messages: list[Message], new: Message) -> list[Message]:
    """``messages`` and ``new``; chat templates want the roles to alternate, so one role's texts become one message."""
    if not new.content:
        return messages
    if messages and messages[-1].role is new.role and new.role is not Role.SYSTEM:
        return [*messages[:-1], Message(new.role, f"{messages[-1].content} {new.content}")]
    return [*messages, new]
