"""Facts that the turn machine is told. Each carries its own time, in nanoseconds of the one monotonic clock."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from turngap.budget.clock import Ns


class DraftId(NamedTuple):
    """Names one attempt at one reply. Everything made for it carries this."""

    turn: int
    revision: int
    """Which wording of the user's words is answered: each pause makes a new one."""
    attempt: int = 1
    """A reply to other words than were supposed is another attempt, and so is the excuse for one that failed."""

    def __str__(self) -> str:
        return f"{self.turn}.{self.revision}" + (f".{self.attempt}" if self.attempt != 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechStarted:
    """A voice is there; ``at`` is when it began, a few frames ago."""

    at: Ns


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechPaused:
    """The voice is gone since ``speech_end``. If it stays away until ``endpoint_due``, the turn is over."""

    at: Ns
    speech_end: Ns
    endpoint_due: Ns


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMoved:
    """On second thoughts the present pause ends the turn at ``due``; that may have been before now."""

    at: Ns
    due: Ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The text of the turn up to a pause, or of a voice over our reply so far; empty if there were no words in it.
    ``until`` is the moment up to which it was listened."""

    at: Ns
    id: DraftId
    text: str
    until: Ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Supposed:
    """What :class:`Heard` will most likely say; a reply to it may be drafted, and waits for that."""

    at: Ns
    id: DraftId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioStarted:
    """The first audible sample of a reply has left: from now on it has been heard."""

    at: Ns
    id: DraftId
    opener: bool = False
    """Whether that is of an opener; of what follows it is told once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioEnded:
    """The last sample of a reply has been played."""

    at: Ns
    id: DraftId


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHeard:
    """What was said up to a pause cannot be found out: no :class:`Heard` will come for this id."""

    at: Ns
    id: DraftId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFailed:
    """A stage failed, or stalled, while it worked on the reply of this id."""

    at: Ns
    id: DraftId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The client wants an answer to the conversation as it stands, the last words of which are ``text``; where the user
    has the floor, to this turn once it is over."""

    at: Ns
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissed:
    """The client wants no more of this turn: neither the reply, nor what was said if that is not over yet."""

    at: Ns


Event: TypeAlias = (
    SpeechStarted
    | SpeechPaused
    | EndpointMoved
    | Heard
    | Supposed
    | NotHeard
    | AudioStarted
    | AudioEnded
    | ReplyFailed
    | Asked
    | Dismissed
)
