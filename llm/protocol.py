"""What a backend is to the rest: something that warms up, holds conversations, and streams replies."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Protocol

from turngap.budget.clock import Ns
from turngap.budget.ledger import NoteValue
from turngap.budget.marks import Span


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Urgency(IntEnum):
    """How soon work is wanted; the smaller number goes first."""

    LIVE = 0
    """Somebody waits for the reply."""
    DRAFT = 1
    """It will be waited for if the user says no more: drafts, and prefill while the user speaks."""
    IDLE = 2
    """It may be of use some day, such as a reply to what the user has not said yet."""


@dataclass(frozen=True, slots=True)
class Message:
    """One contribution to the dialogue, as the model is to see it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a reply stops by itself."""

    max_tokens: int = 60
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of answer text, never empty, and when it was there."""

    text: str
    at: Ns


@dataclass(slots=True, kw_only=True)
class Usage:
    """What a reply cost; a number that is unknown is None, never 0."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the prompt, those that needed no prefill."""
    prefilled_tokens: int | None = None
    """Of the prompt, those that were computed for this reply."""
    completion_tokens: int | None = None
    dropped_messages: int | None = None
    """The oldest messages after the system's that were left out, since the context was full."""
    finish: str | None = None
    """``stop``, ``length``, or None while the reply is still running or was cut off."""
    spans: list[Span] = field(default_factory=list)
    """Stretches in which the backend was at work for this reply: queue, prefill, decode."""
    simulated: bool = False
    """Whether the timing is that of a tier that was only simulated."""
    late: Ns | None = None
    """How late a simulation was at worst with its own timing; None where nothing was simulated."""
    elsewhere: bool = False
    """Whether another machine did the work, so that it cost this one's cores nothing."""
    notes: dict[str, NoteValue] = field(default_factory=dict)
    """Figures of the backend's own, for the turn's ledger; they hold no text of the dialogue."""


class ReplyStream(Protocol):
    """One reply, while it is made. Close it (``aclosing``) to stop the work; closing twice is harmless."""

    @property
    def usage(self) -> Usage:
        """What the reply has cost so far; it grows while the reply is made."""
        ...

    def hasten(self) -> None:
        """The reply is waited for now: what is left of it is as urgent as a live one; harmless if it was."""
        ...

    def __aiter__(self) -> AsyncIterator[Delta]: ...

    async def __anext__(self) -> Delta: ...

    async def aclose(self) -> None: ...


class Conversation(Protocol):
    """The backend's side of one dialogue: what it keeps warm between the turns of one conversation.

    At most one reply of a conversation is worked on at a time; a caller must close one before it starts the next.
    """

    def reply(self, messages: Sequence[Message], *, limits: Limits, urgency: Urgency = Urgency.LIVE) -> ReplyStream:
        """Stream the reply to ``messages``: system first, user last. Errors are StageErrors, on iteration.

        An assistant's message after the user's is an *opener*: words that the reply begins with, and that the user
        hears from elsewhere. The stream holds only what comes after them; put right behind the opener's text, it
        reads as one with it. ``limits`` count what comes after.

        Where the backend's capacity is ours to share out, the more ``urgency`` goes first, in every conversation.
        """
        ...

    async def prepare(self, messages: Sequence[Message], *, urgency: Urgency = Urgency.DRAFT) -> None:
        """Get ready for a reply whose prompt will begin with ``messages``; harmless if it will not."""
        ...

    async def aclose(self) -> None:
        """Forget what was kept for this conversation."""
        ...


class Backend(Protocol):
    """A source of replies. ``describe()`` goes into the record of a run: model, versions, device."""

    async def warm(self) -> None:
        """Load and exercise what the first reply would otherwise wait for. Errors are ModelErrors or StageErrors."""
        ...

    def converse(self) -> Conversation: ...

    def describe(self) -> dict[str, str]: ...

    async def aclose(self) -> None: ...
