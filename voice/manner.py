"""What a conversation is made of, and how the agent behaves in it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from turngap.budget.allowance import DEFAULT, Budget
from turngap.budget.clock import MS, Ns
from turngap.llm.protocol import Backend, Limits
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.audio.echo import Canceller
from turngap.voice.endpointing.protocol import Endpointing, TurnEndModel, VoiceActivity
from turngap.voice.endpointing.wording import Claim
from turngap.voice.tts.protocol import Synthesizer
from turngap.voice.turn import Yielding, any_words


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
    draft_at_pause: bool = True
    excuse: str = "Sorry, something went wrong. Please say that again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a conversation is made of; models are shared with other conversations."""

    activity: VoiceActivity
    endpointing: Endpointing
    recognizer: Recognizer
    backend: Backend
    synthesizer: Synthesizer
    turn_end: TurnEndModel | None = None
    """For policies that ask."""
    canceller: Canceller | None = None
    """Takes the agent's own voice out of what the client sends; None where the client does it."""
