"""What a front door is to the session: audio in with its arrival, audio and events out.

A door owns one connection and translates between its wire format and these calls. It refuses what its protocol
forbids before the session sees it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import Ns
from turngap.llm.calls import Call, Tool
from turngap.llm.protocol import Message, Role, Usage
from turngap.voice.endpointing.protocol import Endpointing
from turngap.voice.turn import Yielding


@dataclass(frozen=True, slots=True)
class Packet:
    """Audio of the user: mono float32, -1 to 1, at the door's rate, and when it was read."""

    samples: NDArray[np.float32]
    at: Ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How one reply is to be made, where that differs from the others; None is as usual."""

    instructions: str | None = None
    written: bool | None = None
    """Whether it is text, which nobody speaks."""
    max_tokens: int | None = None
    tools: Sequence[Tool] | None = None
    must_call: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Configure:
    """How the conversation goes on. Where a policy is given it decides on turns from now on, and ``yielding`` on
    barge-in; ``answers`` is whether a turn is answered that nobody has asked to be answered."""

    order: Order
    endpointing: Endpointing | None = None
    yielding: Yielding
    answers: bool
    manual: bool = False
    """Whether only the client tells where a turn ends."""


@dataclass(frozen=True, slots=True)
class CommitTurn:
    """What was said so far is a whole turn, whatever comes after it."""


@dataclass(frozen=True, slots=True)
class DropTurn:
    """What was said, and is no whole turn yet, is not to be heard."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer the conversation as it stands, and the turn that is not over yet once it is."""

    order: Order


@dataclass(frozen=True, slots=True)
class AskAside:
    """Answer beside the conversation, which is not to know of it. ``messages``, where there are any, are asked instead
    of it; the answer is told as :class:`Aside`."""

    name: str
    order: Order
    messages: tuple[Message, ...] | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the reply; what was heard of it stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """``role`` contributed ``text`` in writing, after ``after`` (as :meth:`History.add` reads it)."""

    key: str
    role: Role
    text: str
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """What is known under this key was never said."""

    key: str


@dataclass(frozen=True, slots=True)
class CutShort:
    """Of the reply of ``turn`` the client has played only the first ``samples``, at the door's rate."""

    turn: int
    samples: int


Wish: TypeAlias = Configure | CommitTurn | DropTurn | Ask | AskAside | Cancel | Write | Forget | CutShort
"""What a client may want beside being heard. They are granted in order, between the packets where they stood."""


@dataclass(frozen=True, slots=True)
class VoiceBegan:
    """The user has the floor in ``turn``, since so many ms of its audio."""

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class VoiceEnded:
    """The user's turn is over, for all that is known, since so many ms of its audio: more may still come."""

    turn: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ReplyText:
    """The words of the reply that the next audio begins with; of a written reply, its next words."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """The reply of ``turn`` wants a function to be run. Nobody is told before the reply is wanted."""

    turn: int
    call: Call


@dataclass(frozen=True, slots=True)
class CutTo:
    """Of the reply of ``turn`` these words were heard, after :class:`CutShort`."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A piece of an answer beside the conversation; the last one is ``over``, and tells what it cost."""

    name: str
    text: str = ""
    samples: NDArray[np.float32] | None = None
    call: Call | None = None
    over: bool = False
    failure: str | None = None
    usage: Usage | None = None


News: TypeAlias = VoiceBegan | VoiceEnded | ReplyText | Called | CutTo | Aside
"""What only some protocols tell their clients."""


class ClientGone(Exception):
    """The client has left, or was sent away; nothing more can be said to it."""


class Door(Protocol):
    """One connection. All sends raise :class:`ClientGone` once the client has left."""

    @property
    def rate_hz(self) -> int:
        """Rate of the audio in both directions."""
        ...

    async def packet(self) -> Packet | Wish | None:
        """The next audio of the user, or what the client wants; None when the client said that no more will come. May
        be cancelled and called again. Raises ClientGone when the client has left."""
        ...

    async def audio(self, samples: NDArray[np.float32]) -> None: ...

    async def clear(self) -> None:
        """Ask the client to drop what it has not played yet."""
        ...

    async def transcript(self, role: str, text: str) -> None:
        """Final words of ``user`` or ``agent``."""
        ...

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        """What is heard of the user so far. ``stable`` begins all that is told later of the same turn."""
        ...

    async def turn(self, report: Mapping[str, Any]) -> None:
        """The whole ledger of a turn that has ended."""
        ...

    async def tell(self, news: News) -> None:
        """What a door may leave out."""
        ...

    async def error(self, code: str, message: str, remedy: str) -> None: ...
