"""Twilio's Media Streams, bidirectional: what its messages mean, both ways. Pure.

Twilio to us: ``connected``, ``start``, ``media`` (mu-law, 8 kHz, base64), ``dtmf``, ``mark`` (what we marked was
played), ``stop``. Us to Twilio: ``media``, ``mark``, ``clear``. A key that the caller presses is answered as words are.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ClientError
from turngap.voice.audio.g711 import from_ulaw, to_ulaw

PATH: Final = "/v1/twilio"
RATE_HZ: Final = 8_000
KEYS: Final = frozenset("0123456789*#ABCD")


@dataclass(frozen=True, slots=True)
class Started:
    """The call is on, and its stream is called this."""

    stream: str


@dataclass(frozen=True, slots=True)
class Media:
    """Mono float32, -1 to 1, 8 kHz: what the caller says."""

    samples: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Pressed:
    """The caller has pressed a key."""

    key: str


@dataclass(frozen=True, slots=True)
class Marked:
    """All that was sent before this mark has been played, or dropped after a ``clear``."""

    name: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The call is over."""


Said: TypeAlias = Started | Media | Pressed | Marked | Stopped


class TwilioProtocol:
    """One connection. A ClientError changes nothing: the next message is read as before."""

    def __init__(self) -> None:
        self._stream = ""

    def read(self, message: str | bytes) -> Said | None:
        """What ``message`` says; None if nothing that matters here. Raises ClientError."""
        fields = _object(message)
        match fields.get("event"):
            case "connected":
                return None
            case "start":
                return self._start(fields)
            case "media":
                return self._media(_part(fields, "media"))
            case "dtmf":
                return _pressed(_part(fields, "dtmf").get("digit"))
            case "mark":
                return Marked(_named(_part(fields, "mark"), "name"))
            case "stop":
                return Stopped()
            case other:
                raise ClientError("unknown_event", f"unknown event {other!r}")

    def _start(self, fields: Mapping[str, Any]) -> Started:
        if self._stream:
            raise ClientError("late_start", "'start' must come once")
        start = _part(fields, "start")
        shape = start.get("mediaFormat") or {}
        if not isinstance(shape, dict) or shape.get("encoding", "audio/x-mulaw") != "audio/x-mulaw":
            raise ClientError("bad_format", "only audio/x-mulaw is spoken here")
        stream = fields.get("streamSid") or start.get("streamSid")
        if not isinstance(stream, str) or not stream:
            raise ClientError("bad_start", "a stream needs its streamSid")
        self._stream = stream
        return Started(stream)

    def _media(self, media: Mapping[str, Any]) -> Media | None:
        if not self._stream:
            raise ClientError("early_media", "'start' must come first")
        if media.get("track", "inbound") != "inbound":
            return None  # our own voice, where somebody asked for both tracks
        try:
            payload = base64.b64decode(_named(media, "payload"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ClientError("bad_payload", "the payload must be base64") from error
        return Media(from_ulaw(payload))

    def media(self, samples: NDArray[np.float32]) -> str:
        """The message that plays these to the caller."""
        payload = base64.b64encode(to_ulaw(samples)).decode("ascii")
        return self._message("media", media={"payload": payload})

    def mark(self, name: str) -> str:
        """The message after which Twilio tells when all before it was played."""
        return self._message("mark", mark={"name": name})

    def clear(self) -> str:
        """The message that drops what was not played."""
        return self._message("clear")

    def _message(self, event: str, **fields: Any) -> str:
        return json.dumps({"event": event, "streamSid": self._stream, **fields})


def _pressed(key: object) -> Pressed:
    if not isinstance(key, str) or key not in KEYS:
        raise ClientError("bad_dtmf", f"there is no key {key!r}")
    return Pressed(key)


def _object(message: str | bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ClientError("not_json", "a message must be a JSON object")
    return fields


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    if not isinstance(part, dict):
        raise ClientError(f"bad_{name}", f"'{name}' must be an object")
    return part


def _named(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    if not isinstance(value, str):
        raise ClientError(f"bad_{name}", f"'{name}' must be a text")
    return value
