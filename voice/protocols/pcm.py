"""The raw PCM protocol: what its messages mean. Pure; the socket is :mod:`turngap.voice.server`'s.

Client to server: binary frames of PCM16, and JSON ``{"type": "start", "sample_rate": 16000, "channels": 1,
"events": ["hypothesis", "turn"]}`` before the first audio (without it: 16 kHz, mono, no events), ``{"type": "end"}``
after the last. Server to client: binary frames of mono PCM16 at the same rate, and JSON ``clear``, ``transcript``,
``error``, and where asked for ``hypothesis`` and ``turn``.

A ``hypothesis`` says what has been heard of a turn so far, as two texts: ``stable`` begins, to the letter, all that is
said later about this turn, the ``transcript`` of it included; ``unstable`` goes on from there and may change.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ClientError
from turngap.voice.audio.pcm import from_pcm16

PATH: Final = "/v1/pcm"
MIN_RATE_HZ: Final = 8_000
MAX_RATE_HZ: Final = 48_000
EVENTS: Final = ("hypothesis", "turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How the client's audio is to be read, and which events it wants beside audio and transcripts."""

    rate_hz: int = 16_000
    channels: int = 1
    events: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Audio:
    """Mono float32, -1 to 1."""

    samples: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class End:
    """No more audio will come."""


ClientMessage: TypeAlias = Start | Audio | End


class PcmProtocol:
    """Reads the messages of one connection. A ClientError changes nothing: the next message is read as before."""

    def __init__(self) -> None:
        self.start = Start()
        self._started = False
        self._ended = False

    def read(self, message: str | bytes) -> ClientMessage:
        """What ``message`` says. Raises ClientError, with a stable ``code``, for what may not be said."""
        if self._ended:
            raise ClientError("after_end", "a message came after 'end'", remedy="Open a new connection")
        if isinstance(message, bytes):
            return self._audio(message)
        return self._text(message)

    def _audio(self, payload: bytes) -> Audio:
        frame = 2 * self.start.channels
        if len(payload) % frame:
            raise ClientError(
                "odd_bytes",
                f"{len(payload)} bytes are not whole frames of {frame} bytes",
                remedy="Send PCM16: two bytes a sample, all channels of a moment together",
            )
        self._started = True
        return Audio(from_pcm16(payload, self.start.channels))

    def _text(self, text: str) -> ClientMessage:
        try:
            fields = json.loads(text)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise ClientError(
                "not_json", "a text message must be a JSON object", remedy="Send audio as binary messages"
            )
        match fields.get("type"):
            case "start":
                return self._read_start(fields)
            case "end":
                self._ended = True
                return End()
            case other:
                raise ClientError("unknown_type", f"unknown type {other!r}", remedy="Known types: start, end")

    def _read_start(self, fields: Mapping[str, Any]) -> Start:
        if self._started:
            raise ClientError(
                "late_start", "'start' must come once, before the first audio", remedy="Open a new connection"
            )
        start = Start(
            rate_hz=_whole(fields, "sample_rate", 16_000, MIN_RATE_HZ, MAX_RATE_HZ),
            channels=_whole(fields, "channels", 1, 1, 2),
            events=_events(fields.get("events", [])),
        )
        self.start, self._started = start, True
        return start


def _whole(fields: Mapping[str, Any], key: str, default: int, low: int, high: int) -> int:
    value = fields.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ClientError(f"bad_{key}", f"{key} is {value!r}", remedy=f"Give a whole number from {low} to {high}")
    return value


def _events(names: object) -> frozenset[str]:
    if not isinstance(names, list) or not all(name in EVENTS for name in names):
        raise ClientError("bad_events", f"events is {names!r}", remedy=f"Give a list of: {', '.join(EVENTS)}")
    return frozenset(names)
