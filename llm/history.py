"""What was really said by both sides: the dialogue as the model is to see it on the next turn.

Nothing is written here on its own. The caller writes when a reply has passed the point of no return, and then only
as much of it as was heard; a draft is asked for with :meth:`History.messages_with` and leaves no trace.
"""

from collections.abc import Sequence

from turngap.llm.protocol import Message, Role


class History:
    """A system prompt and the contributions so far."""

    def __init__(self, system: str = "") -> None:
        self._messages: list[Message] = [Message(Role.SYSTEM, system)] if system else []

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything so far, the system prompt first."""
        return tuple(self._messages)

    def user(self, text: str) -> None:
        """The user said ``text``; with no reply heard in between, it joins the user's own last words."""
        self._messages = _joined(self._messages, Message(Role.USER, text.strip()))

    def assistant(self, heard: str) -> None:
        """The user heard ``heard`` of our reply; more of the same reply joins it."""
        self._messages = _joined(self._messages, Message(Role.ASSISTANT, heard.strip()))

    def messages_with(self, user_text: str, *, opener: str = "") -> tuple[Message, ...]:
        """The prompt for a reply to ``user_text`` that begins with ``opener``; the history itself does not change."""
        asked = _joined(self._messages, Message(Role.USER, user_text.strip()))
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
    if messages and messages[-1].role is new.role:
        return [*messages[:-1], Message(new.role, f"{messages[-1].content} {new.content}")]
    return [*messages, new]
