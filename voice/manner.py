"""What a conversation is made of, and how the agent behaves in it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from turngap.budget.allowance import DEFAULT, Budget
from turngap.budget.clock import MS, Ns
from turngap.llm.protocol import Backend, Limits
from turngap.llm.speculation.forms import Forms
from turngap.llm.speculation.language import Language
from turngap.llm.speculation.openers import Openers
from turngap.llm.speculation.policy import Running, nothing
from turngap.llm.speculation.replies import Replies
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.audio.echo import Canceller
from turngap.voice.endpointing.protocol import Endpointing, TurnEndModel, VoiceActivity
from turngap.voice.endpointing.wording import Claim
from turngap.voice.overlap import any_words
from turngap.voice.tts.protocol import Speech, Synthesizer
from turngap.voice.turn import Yielding, same_text


def unknown(text: str) -> Sequence[Speech] | None:
    """Of a synthesizer that remembers nothing."""
    return None


async def forgetting(text: str) -> None:
    """To a synthesizer that remembers nothing."""


def no_language() -> Replies:
    """Where two turns say the same if their words are the same."""
    return Replies(Language())


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """What is begun, or ready, before it is known that it is wanted."""

    at_pause: bool = True
    """Whether a reply is drafted as soon as a pause has its words; else at the endpoint."""
    supposes: Callable[[Running], bool] = nothing
    """Whether words that are only supposed are worth a draft."""
    same: Callable[[str, str], bool] = same_text
    """Whether a reply to the one is a reply to the other."""
    openers: Openers | None = None
    first_opener: int = 0
    """Which of those that fit is said first: another in each conversation, for many have a turn or two only."""
    open_after: Ns = 0
    """How long after the endpoint an opener is said, if there is no reply yet. Who was only pausing has gone on by then
    and never hears it."""
    replies: Replies | None = None
    forms: Forms | None = None
    foresees: bool = False
    """Whether what the user may say next is foreseen and answered between the turns."""
    foreseen: Callable[[], Replies] = no_language
    """An empty store for what is foreseen in one conversation."""

    def known(self, state: str, text: str) -> "Known | None":
        """The reply to ``text``, after the agent said ``state``, where no model has to be asked for one."""
        if self.replies is not None and (match := self.replies.match(state, text)) is not None:
            return Known(match.text, partial(self.replies.said, match))
        if self.forms is not None and (filled := self.forms.match(text)) is not None:
            return Known(filled.text, self.forms.said)
        return None


class Known(NamedTuple):
    """A reply that is known in advance; ``said`` is to be called once it is heard, so that its wordings take turns."""

    text: str
    said: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the agent behaves in a conversation."""

    system: str
    budget: Budget = DEFAULT
    limits: Limits = field(default_factory=Limits)
    yielding: Yielding = Yielding.AT_ONCE
    claims: Callable[[str], Claim] = any_words
    """How words over our reply claim the floor, or whether they are only said along."""
    decide: Ns = 500 * MS
    """For how long a voice over our reply that is not understood may keep us silent."""
    deadline: Ns = 5000 * MS
    """From the endpoint: how long a reply may stay away."""
    stall: Ns = 3000 * MS
    """How long the backend may be silent, before or after its first token."""
    speculation: Speculation = field(default_factory=Speculation)
    excuse: str = "Sorry, something went wrong. Please say that again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a conversation is made of; models are shared with other conversations."""

    activity: VoiceActivity
    endpointing: Endpointing
    recognizer: Recognizer
    backend: Backend
    synthesizer: Synthesizer
    remembered: Callable[[str], Sequence[Speech] | None] = unknown
    """What the synthesizer has said before, at once."""
    learn: Callable[[str], Awaitable[None]] = forgetting
    """Has the synthesizer say a text, unheard, so that it is remembered."""
    turn_end: TurnEndModel | None = None
    """For policies that ask."""
    canceller: Canceller | None = None
    """Takes the agent's own voice out of what the client sends; None where the client does it."""
