"""What the turn machine asks for. The session performs it; asking costs nothing and promises nothing."""

from dataclasses import dataclass
from typing import TypeAlias

from turngap.budget.clock import Ns
from turngap.budget.ledger import Outcome
from turngap.voice.events import DraftId


@dataclass(frozen=True, slots=True)
class BeginTurn:
    """The user has the floor since ``onset``: keep the audio from there on."""

    turn: int
    onset: Ns


@dataclass(frozen=True, slots=True)
class GoOn:
    """The user goes on in the same turn; the pause was none."""

    turn: int


@dataclass(frozen=True, slots=True)
class TakeAsked:
    """There is no voice in this revision: ``text``, which the client wrote, is what is answered."""

    id: DraftId
    text: str


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Find out what was said up to this pause."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Draft:
    """Make a reply to ``text``, and hold it back. A second one under the same id goes on from the same opener, and the
    first is thrown away."""

    id: DraftId
    text: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The user's turn is over."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing of the reply is heard yet: say a beginning that fits whatever it will be, if there is one."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Commit:
    """The draft may be heard, as soon as it is there."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class HoldBack:
    """The endpoint was none yet: keep the draft, and let nothing of it be heard before the next :class:`Commit`."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class TakeFloor:
    """The reply is being heard: what was said, and that it was answered, are facts now."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Discard:
    """Throw the draft away; nothing of it was heard."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Contest:
    """A voice is heard over our reply: find out its words, from its onset on."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Understand:
    """The voice over our reply is gone for now: find out at once what it said."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class FallSilent:
    """Stop speaking, so that it can go on from here."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class SpeakOn:
    """Go on where we fell silent."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Hush:
    """Stop what is being heard, now."""

    id: DraftId


@dataclass(frozen=True, slots=True)
class Excuse:
    """Say that the reply went wrong; ``reason`` is for the record and for the client."""

    id: DraftId
    reason: str


@dataclass(frozen=True, slots=True)
class EndTurn:
    """Close the books on this turn."""

    id: DraftId
    outcome: Outcome


Effect: TypeAlias = (
    BeginTurn
    | GoOn
    | TakeAsked
    | Transcribe
    | Draft
    | Endpoint
    | Open
    | Commit
    | HoldBack
    | TakeFloor
    | Discard
    | Contest
    | Understand
    | FallSilent
    | SpeakOn
    | Hush
    | Excuse
    | EndTurn
)
