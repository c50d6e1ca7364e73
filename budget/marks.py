"""The moments of one turn, and the stages that they end.

A *mark* is a moment that happens once per revision of a turn; it ends a *stage*, and it remembers which earlier
mark *released* it, that is, what it was waiting for. A *span* is a stretch in which a stage was really at work.
Both are facts; what they mean for the gap is worked out in :mod:`turngap.budget.account`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from turngap.budget.clock import Ns


class Stage(StrEnum):
    """A part of the pipeline that can be charged with time of the gap."""

    ENDPOINTING = "endpointing"
    ASR = "asr"
    DISPATCH = "dispatch"
    PREFILL = "prefill"
    DECODE = "decode"
    TTS = "tts"
    PLAYOUT = "playout"
    RESIDUAL = "residual"
    """Time on the critical path in which no stage was at work: a blocked loop, a queue, a hidden timer."""


class Mark(StrEnum):
    """A moment of a turn, in the order in which causes usually run."""

    SPEECH_END = "speech_end"
    PAUSE = "pause"
    ENDPOINT = "endpoint"
    TRANSCRIPT = "transcript"
    REQUEST = "request"
    FIRST_TOKEN = "first_token"
    SPEAKABLE = "speakable"
    FIRST_AUDIO = "first_audio"
    SENT = "sent"


MEANING: Final[Mapping[Mark, str]] = MappingProxyType(
    {
        Mark.SPEECH_END: "last voiced sample arrived, found backwards from the pause",
        Mark.PAUSE: "the voice detector noticed that the voice is gone",
        Mark.ENDPOINT: "decided: the turn is over",
        Mark.TRANSCRIPT: "the text that the reply answers is final",
        Mark.REQUEST: "the request has left for the backend",
        Mark.FIRST_TOKEN: "first answer text",
        Mark.SPEAKABLE: "enough text for the first spoken piece",
        Mark.FIRST_AUDIO: "first audible sample synthesised",
        Mark.SENT: "first audible sample handed to the transport",
    }
)

ENDS: Final[Mapping[Mark, Stage]] = MappingProxyType(
    {
        Mark.PAUSE: Stage.ENDPOINTING,
        Mark.ENDPOINT: Stage.ENDPOINTING,
        Mark.TRANSCRIPT: Stage.ASR,
        Mark.REQUEST: Stage.DISPATCH,
        Mark.FIRST_TOKEN: Stage.PREFILL,
        Mark.SPEAKABLE: Stage.DECODE,
        Mark.FIRST_AUDIO: Stage.TTS,
        Mark.SENT: Stage.PLAYOUT,
    }
)
"""The stage that each mark ends; ``SPEECH_END`` begins the gap and ends none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """One mark, when it happened, and the mark that it had been waiting for (None only for the first)."""

    mark: Mark
    at: Ns
    released_by: Mark | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of work of one stage: ``start <= end``, and a word for what it was (``queue``, ``pass`` ...)."""

    stage: Stage
    start: Ns
    end: Ns
    what: str = ""
