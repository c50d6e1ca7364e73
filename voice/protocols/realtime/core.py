"""The OpenAI Realtime protocol (the names of its general availability): what its messages mean, both ways. Pure.

A client's message becomes audio and wishes for the session, and events that answer it at once; what the session tells
becomes events. A message that cannot be accepted becomes an ``error`` event and changes nothing.

The server's turns are not the protocol's: here a turn that the user goes on with was none yet. So a client is told that
it was committed when there is no way back, which is when the first sound of the reply leaves.
"""

import base64
import binascii
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ClientError
from turngap.llm.protocol import Message
from turngap.voice.audio.g711 import from_alaw, from_ulaw, to_alaw, to_ulaw
from turngap.voice.audio.pcm import from_pcm16, to_pcm16
from turngap.voice.endpointing.protocol import Endpointing
from turngap.voice.protocols.door import (
    Aside,
    Ask,
    AskAside,
    Called,
    Cancel,
    CommitTurn,
    Configure,
    CutShort,
    CutTo,
    DropTurn,
    Forget,
    News,
    Order,
    ReplyText,
    VoiceBegan,
    VoiceEnded,
    Wish,
    Write,
)
from turngap.voice.protocols.realtime.config import FORMATS, Choices, Config, mapping, read_choices, refused
from turngap.voice.protocols.realtime.items import Item, Items, written
from turngap.voice.protocols.realtime.response import Response, copied
from turngap.voice.turn import Yielding

PATH: Final = "/v1/realtime"
RATE_HZ: Final = 24_000
"""Of the session's audio; the telephone's formats are converted by the door."""
LEAST_COMMIT_MS: Final = 100
MOST_METADATA: Final = 16

Fields: TypeAlias = dict[str, Any]
Policies: TypeAlias = Callable[[Mapping[str, Any] | None], Endpointing]
"""The endpointing that a ``turn_detection`` names."""


@dataclass(slots=True)
class Received:
    """What a message means: audio, at the rate of the session's input format, wishes, and events that answer it."""

    samples: NDArray[np.float32] | None = None
    wishes: list[Wish] = field(default_factory=list)
    events: list[Fields] = field(default_factory=list)


@dataclass(slots=True)
class _Turn:
    """A turn of the user's."""

    item_id: str
    number: int = 0
    end_ms: int | None = None
    committed: bool = False


class Realtime:
    """One connection. ``name`` makes its ids unique."""

    def __init__(self, name: str, *, model: str, instructions: str, policies: Policies, yielding: Yielding) -> None:
        self.config = Config(choices=Choices(instructions=instructions))
        self._name = name
        self._model = model
        self._policies = policies
        self._yielding = yielding
        self._items = Items()
        self._count = 0
        self._turn: _Turn | None = None
        self._committed: list[_Turn] = []
        """Turns that the client has committed and of which the session has not told yet."""
        self._buffered = 0
        self._response: Response | None = None
        self._cancelled = False
        self._asides: dict[str, Response] = {}

    def opened(self) -> list[Fields]:
        """What a new client is told."""
        return self._stamped([{"type": "session.created", "session": self._session()}])

    def configuration(self) -> Configure:
        """The session as it is now."""
        detection = self.config.turn_detection
        interrupts = detection is not None and detection["interrupt_response"]
        choices = self.config.choices
        return Configure(
            order=order_of(choices),
            endpointing=self._policies(detection),
            manual=detection is None,
            yielding=self._yielding if interrupts else Yielding.NEVER,
            answers=detection is not None and detection["create_response"],
        )

    # What the client says.

    def receive(self, message: str | bytes) -> Received:
        """Read a message of the client's."""
        event_id: object = None
        found = Received()
        try:
            fields = _read(message)
            event_id = fields.get("event_id")
            self._receive(fields, found)
        except ClientError as error:
            found = Received(events=[_error(error, event_id)])
        found.events = self._stamped(found.events)
        return found

    def _receive(self, fields: Mapping[str, Any], found: Received) -> None:
        match fields.get("type"):
            case "input_audio_buffer.append":
                found.samples = self._append(fields.get("audio"))
            case "input_audio_buffer.commit":
                self._commit(found)
            case "input_audio_buffer.clear":
                self._buffered = 0
                found.wishes.append(DropTurn())
                found.events.append({"type": "input_audio_buffer.cleared"})
            case "session.update":
                self._update(fields.get("session"), found)
            case "conversation.item.create":
                self._create(fields, found)
            case "conversation.item.delete":
                item = self._items.remove(fields.get("item_id"))
                found.wishes.append(Forget(item.key))
                found.events.append({"type": "conversation.item.deleted", "item_id": item.id})
            case "conversation.item.retrieve":
                item = self._items.find(fields.get("item_id"))
                found.events.append({"type": "conversation.item.retrieved", "item": copied(item)})
            case "conversation.item.truncate":
                self._truncate(fields, found)
            case "response.create":
                self._ask(fields, found)
            case "response.cancel":
                self._cancel(fields.get("response_id"), found)
            case other:
                raise refused("type", f"there is no client event {other!r}")

    def _append(self, audio: object) -> NDArray[np.float32]:
        if not isinstance(audio, str):
            raise refused("audio", "give base64")
        try:
            payload = base64.b64decode(audio, validate=True)
        except (binascii.Error, ValueError) as error:
            raise refused("audio", "give base64") from error
        match self.config.input_format:
            case "audio/pcm":
                if len(payload) % 2:
                    raise refused("audio", "PCM16 has two bytes a sample")
                samples = from_pcm16(payload)
            case "audio/pcmu":
                samples = from_ulaw(payload)
            case _:
                samples = from_alaw(payload)
        self._buffered += len(samples)
        return samples

    def _commit(self, found: Received) -> None:
        if self._buffered * 1000 < LEAST_COMMIT_MS * FORMATS[self.config.input_format]:
            raise ClientError(
                "input_audio_buffer_commit_empty",
                f"Error committing input audio buffer: the buffer has less than {LEAST_COMMIT_MS} ms of audio.",
            )
        turn = self._turn
        if turn is None or turn.committed:
            turn = _Turn(self._new_id("item"))
            self._committed.append(turn)
        found.events.extend(self._commit_turn(turn))
        found.wishes.append(CommitTurn())

    def _update(self, session: object, found: Received) -> None:
        before = self.config
        config = before.updated(session)
        if config.input_format != before.input_format and self._buffered:
            raise refused("session.audio.input.format", "there is audio of another format in the buffer")
        self.config = config
        wish = self.configuration()
        if config.turn_detection == before.turn_detection:
            wish = replace(wish, endpointing=None)
        found.wishes.append(wish)
        found.events.append({"type": "session.updated", "session": self._session()})

    def _create(self, fields: Mapping[str, Any], found: Received) -> None:
        item, role, text = written(fields.get("item"), id=self._new_id("item"))
        if self._items.has(item.id):
            raise ClientError("item_exists", f"Invalid 'item.id': there is an item '{item.id}'.", remedy="item.id")
        after = fields.get("previous_item_id")
        if after is not None and after != "root":
            after = self._items.find(after, "previous_item_id").id
        before = self._items.add(item, after=after)
        key = None if after is None else "" if before is None else self._items.find(before).key
        found.wishes.append(Write(key=item.key, role=role, text=text, after=key))
        for kind in ("added", "done"):
            found.events.append({"type": f"conversation.item.{kind}", "previous_item_id": before, "item": copied(item)})

    def _truncate(self, fields: Mapping[str, Any], found: Received) -> None:
        item = self._items.find(fields.get("item_id"))
        if item.samples is None:
            raise refused("item_id", "only the audio of a reply can be truncated")
        end_ms, rate = fields.get("audio_end_ms"), FORMATS[self.config.output_format]
        if isinstance(end_ms, bool) or not isinstance(end_ms, int) or end_ms < 0:
            raise refused("audio_end_ms", "give a whole number of ms")
        if end_ms * rate > item.samples * 1000:
            length = item.samples * 1000 // rate
            raise refused("audio_end_ms", f"Audio content of {length}ms is already shorter than {end_ms}ms")
        found.wishes.append(CutShort(item.turn, end_ms * RATE_HZ // 1000))
        truncated = {"type": "conversation.item.truncated", "item_id": item.id, "content_index": 0}
        found.events.append({**truncated, "audio_end_ms": end_ms})

    def _ask(self, fields: Mapping[str, Any], found: Received) -> None:
        given = mapping(fields.get("response") or {}, "response")
        choices = read_choices(given, "response")
        metadata = _metadata(given.get("metadata"))
        beside = given.get("conversation") == "none"
        if self._response is not None and not beside:
            raise ClientError(
                "conversation_already_has_active_response",
                f"Conversation already has an active response in progress: {self._response.id}.",
            )
        asked = self._messages(given.get("input"))
        response = self._new_response(choices.over(self.config.choices), metadata, beside=beside)
        if beside:
            self._asides[response.id] = response
            found.wishes.append(AskAside(response.id, order_of(choices.over(self.config.choices)), asked))
        elif asked is not None:
            raise refused("response.input", "only responses beside the conversation have an input of their own")
        else:
            self._response = response
            found.wishes.append(Ask(order_of(choices)))
        found.events.extend(response.created())

    def _messages(self, given: object) -> tuple[Message, ...] | None:
        if given is None:
            return None
        if not isinstance(given, list):
            raise refused("response.input", "give a list of items")
        return tuple(self._message(mapping(each, "response.input")) for each in given)

    def _message(self, given: Mapping[str, Any]) -> Message:
        if given.get("type") == "item_reference":
            item = self._items.find(given.get("id"), "response.input")
            given = {key: value for key, value in item.shown.items() if key != "status"}
        _, role, text = written(given, id="unused")
        return Message(role, text)

    def _cancel(self, id: object, found: Received) -> None:
        active = self._response
        if active is None or id not in (None, active.id):
            raise ClientError("response_cancel_not_active", "Cancellation failed: no active response found")
        self._cancelled = True
        found.wishes.append(Cancel())

    # What the session tells.

    def tell(self, news: News) -> list[Fields]:
        """Events for ``news``."""
        return self._stamped(self._tell(news))

    def _tell(self, news: News) -> Iterator[Fields]:
        match news:
            case VoiceBegan(turn=number, at_ms=at_ms):
                yield from self._began(number, at_ms)
            case VoiceEnded(at_ms=at_ms):
                if self._turn is not None:
                    self._turn.end_ms = at_ms
            case ReplyText(turn=number, text=text):
                response = yield from self._replying()
                yield from response.text(text, turn=number)
            case Called(turn=number, call=call):
                response = yield from self._replying()
                yield from response.call(call, key=f"call:{number}:0")
            case CutTo(turn=number, text=text):
                self._cut(number, text)
            case _:
                yield from self._beside(news)

    def _began(self, number: int, at_ms: int) -> Iterator[Fields]:
        self._turn = self._committed.pop(0) if self._committed else _Turn(self._new_id("item"))
        self._turn.number = number
        if self.config.turn_detection is not None:
            started = {"type": "input_audio_buffer.speech_started", "item_id": self._turn.item_id}
            yield {**started, "audio_start_ms": at_ms}

    def _commit_turn(self, turn: _Turn) -> Iterator[Fields]:
        if turn.committed:
            return
        turn.committed = True
        self._buffered = 0
        if self.config.turn_detection is not None and turn.number:
            stopped = {"type": "input_audio_buffer.speech_stopped", "item_id": turn.item_id}
            yield {**stopped, "audio_end_ms": turn.end_ms or 0}
        before = self._items.last_id
        yield {"type": "input_audio_buffer.committed", "item_id": turn.item_id, "previous_item_id": before}
        shown = {
            "id": turn.item_id,
            "object": "realtime.item",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_audio", "transcript": None}],
        }
        item = Item(shown, f"user:{turn.number}", turn.number)
        self._items.add(item)
        for kind in ("added", "done"):
            yield {"type": f"conversation.item.{kind}", "previous_item_id": before, "item": copied(item)}

    def _replying(self) -> Generator[Fields, None, Response]:
        """The response that is being told, which begins now if there is none."""
        if self._turn is not None:
            yield from self._commit_turn(self._turn)
        if self._response is None:
            self._response = self._new_response(self.config.choices, {})
            yield from self._response.created()
        return self._response

    def audio(self, samples: NDArray[np.float32]) -> list[Fields]:
        """Events for audio of the reply, at the rate of the session's output format."""
        return self._stamped(self._audio(samples))

    def _audio(self, samples: NDArray[np.float32]) -> Iterator[Fields]:
        response = yield from self._replying()
        turn = 0 if response.item is None else response.item.turn
        yield from response.audio(self._encoded(samples), len(samples), turn=turn)

    def _encoded(self, samples: NDArray[np.float32]) -> bytes:
        match self.config.output_format:
            case "audio/pcm":
                return to_pcm16(samples)
            case "audio/pcmu":
                return to_ulaw(samples)
            case _:
                return to_alaw(samples)

    def heard(self, text: str) -> list[Fields]:
        """Events for the final words of the user's turn."""
        return self._stamped(self._heard(text))

    def _heard(self, text: str) -> Iterator[Fields]:
        turn = self._turn
        if turn is None:
            return
        yield from self._commit_turn(turn)
        if not self._items.has(turn.item_id):
            return  # the client has deleted it
        item = self._items.find(turn.item_id)
        item.key = f"user:{turn.number}"
        item.shown["content"] = [{"type": "input_audio", "transcript": text}]
        if self.config.transcription is not None:
            kind = "conversation.item.input_audio_transcription"
            place = {"item_id": turn.item_id, "content_index": 0}
            if text:
                yield {"type": f"{kind}.delta", **place, "delta": text}
            # How long it was is not known here; the protocol wants a number.
            usage = {"type": "duration", "seconds": 0}
            yield {"type": f"{kind}.completed", **place, "transcript": text, "usage": usage}

    def over(self, report: Mapping[str, Any]) -> list[Fields]:
        """Events for a turn that has ended."""
        return self._stamped(self._over(report))

    def _over(self, report: Mapping[str, Any]) -> Iterator[Fields]:
        outcome, turn = report["outcome"], self._turn
        if outcome == "no_words" and turn is not None and turn.number == report["turn"]:
            yield from self._heard("")
        if turn is not None and turn.number == report["turn"]:
            self._turn = None
        response, cancelled = self._response, self._cancelled
        if response is None or outcome == "unasked":
            return
        self._response, self._cancelled = None, False
        yield from ended(response, report, cancelled=cancelled)

    def _cut(self, number: int, text: str) -> None:
        for item in self._items.of_turn(number):
            item.shown["content"] = [{"type": "output_audio", "transcript": text}]

    def _beside(self, news: Aside) -> Iterator[Fields]:
        response = self._asides.get(news.name)
        if response is None:
            return
        if news.text:
            yield from response.text(news.text, turn=0)
        if news.samples is not None and len(news.samples):
            yield from response.audio(self._encoded(news.samples), len(news.samples), turn=0)
        if news.call is not None:
            yield from response.call(news.call, key="")
        if news.over:
            del self._asides[news.name]
            failed = news.failure is not None
            details = {"type": "failed", "error": {"type": "server_error", "code": news.failure}} if failed else None
            usage = {} if news.usage is None else _counted(news.usage)
            status = "failed" if failed else "completed"
            yield from response.done(status, heard=None, details=details, usage=usage, report={})

    def failed(self, code: str, message: str) -> list[Fields]:
        """An error of ours."""
        return self._stamped([_error(ClientError(code, message), None, kind="server_error")])

    # Names.

    def _new_response(self, choices: Choices, metadata: Mapping[str, str], *, beside: bool = False) -> Response:
        return Response(
            self._new_id("resp"),
            choices=choices,
            items=None if beside else self._items,
            conversation=None if beside else f"conv_{self._name}",
            metadata=metadata,
            new_id=self._new_id,
        )

    def _session(self) -> Fields:
        return self.config.to_json(id=f"sess_{self._name}", model=self._model)

    def _new_id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._name}_{self._count}"

    def _stamped(self, events: Iterable[Fields]) -> list[Fields]:
        return [{"event_id": self._new_id("event"), **event} for event in events]


def ended(response: Response, report: Mapping[str, Any], *, cancelled: bool) -> Iterator[Fields]:
    """Events for the end of a response whose turn ended so."""
    outcome, notes = report["outcome"], report.get("notes", {})
    status = "completed"
    details: Fields | None = None
    if outcome == "interrupted":
        status = "cancelled"
        details = {"type": "cancelled", "reason": "client_cancelled" if cancelled else "turn_detected"}
    elif outcome == "failed":
        status = "failed"
        error = {"type": "server_error", "code": report.get("failure")}
        details = {"type": "failed", "error": error}
    elif notes.get("finish") == "length":
        status, details = "incomplete", {"type": "incomplete", "reason": "max_output_tokens"}
    heard = report["reply"] if status == "cancelled" else None
    usage = {name: value for name, value in notes.items() if isinstance(value, int)}
    yield from response.done(status, heard=heard, details=details, usage=usage, report=latency(report))


def latency(report: Mapping[str, Any]) -> dict[str, str]:
    """What the turn's gap was spent on, as metadata: texts, in ms; what is unknown is left out."""
    found = {"turngap_gap_ms": report.get("reported_gap_ms")}
    found |= {f"turngap_{stage}_ms": value for stage, value in report.get("charges_ms", {}).items()}
    shown = {name: f"{value:.1f}" for name, value in found.items() if value is not None}
    return shown | ({"turngap_culprit": report["culprit"]} if report.get("culprit") else {})


def order_of(choices: Choices) -> Order:
    """How a reply is made that is chosen so."""
    return Order(
        instructions=choices.instructions,
        written=choices.written,
        max_tokens=choices.max_tokens,
        tools=choices.callable or None,
        must_call=choices.must_call and bool(choices.callable),
    )


def _counted(usage: Any) -> dict[str, int | None]:
    names = ("prompt_tokens", "cached_tokens", "completion_tokens")
    return {name: getattr(usage, name) for name in names}


def _read(message: str | bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ClientError("invalid_json", "A message must be a JSON object.")
    return fields


def _metadata(given: object) -> dict[str, str]:
    found = mapping(given or {}, "response.metadata")
    if len(found) > MOST_METADATA or not all(isinstance(value, str) for value in found.values()):
        raise refused("response.metadata", f"give at most {MOST_METADATA} texts")
    return dict(found)


def _error(error: ClientError, event_id: object, *, kind: str = "invalid_request_error") -> Fields:
    body: Fields = {"type": kind, "code": error.code, "message": error.message, "param": error.remedy or None}
    own = event_id if isinstance(event_id, str) else None
    return {"type": "error", "error": {**body, "event_id": own}}
