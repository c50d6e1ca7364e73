"""One response as a Realtime client sees it: which events it is told by, in which order, and what it cost. Pure.

::

    response.created
      response.output_item.added            the message, with its first words
        conversation.item.added
        response.content_part.added
          response.output_audio_transcript.delta, response.output_audio.delta, ...     or response.output_text.delta
          response.output_audio.done, response.output_audio_transcript.done            or response.output_text.done
        response.content_part.done
      response.output_item.done
        conversation.item.done
      response.output_item.added ...        each function call
    response.done
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turngap.llm.calls import Call
from turngap.voice.protocols.realtime.config import Choices, format_json
from turngap.voice.protocols.realtime.items import Item, Items

Fields = dict[str, Any]


class Response:
    """Call :meth:`created`, then what happens, then :meth:`done`; each gives the events that tell it."""

    def __init__(
        self,
        id: str,
        *,
        choices: Choices,
        items: Items | None,
        conversation: str | None,
        metadata: Mapping[str, str],
        new_id: Callable[[str], str],
    ) -> None:
        self.id = id
        self.item: Item | None = None
        """Its message, once it has one."""
        self._choices = choices
        self._items = items
        self._conversation = conversation
        self._metadata = dict(metadata)
        self._new_id = new_id
        self._text = ""
        self._output: list[Fields] = []
        self._usage: Fields | None = None

    def created(self) -> Iterator[Fields]:
        yield {"type": "response.created", "response": self._shown("in_progress", None)}

    def text(self, text: str, *, turn: int) -> Iterator[Fields]:
        """Its next words."""
        yield from self._begin(turn)
        joined = f" {text}" if self._text else text
        self._text += joined
        kind = "output_text" if self._choices.written else "output_audio_transcript"
        yield {"type": f"response.{kind}.delta", **self._part_place(), "delta": joined}

    def audio(self, payload: bytes, samples: int, *, turn: int) -> Iterator[Fields]:
        """Its next audio."""
        yield from self._begin(turn)
        assert self.item is not None
        self.item.samples = (self.item.samples or 0) + samples
        delta = base64.b64encode(payload).decode("ascii")
        yield {"type": "response.output_audio.delta", **self._part_place(), "delta": delta}

    def call(self, call: Call, *, key: str) -> Iterator[Fields]:
        """It wants a function to be run."""
        yield from self._end_message("completed", self._text)
        shown = {
            "id": self._new_id("item"),
            "object": "realtime.item",
            "type": "function_call",
            "status": "in_progress",
            "name": call.name,
            "call_id": self._new_id("call"),
            "arguments": "",
        }
        item = Item(shown, key)
        yield from self._add(item)
        place = {
            "response_id": self.id,
            "item_id": item.id,
            "output_index": len(self._output),
            "call_id": shown["call_id"],
        }
        yield {"type": "response.function_call_arguments.delta", **place, "delta": call.arguments}
        shown["arguments"], shown["status"] = call.arguments, "completed"
        done = {"type": "response.function_call_arguments.done", **place, "name": call.name}
        yield {**done, "arguments": call.arguments}
        yield from self._end(item)

    def done(
        self,
        status: str,
        *,
        heard: str | None,
        details: Fields | None,
        usage: Mapping[str, int | None],
        report: Mapping[str, str],
    ) -> Iterator[Fields]:
        """It is over; ``heard`` is what was heard of it, if that is known to be less than was made."""
        whole = "completed" if status == "completed" else "incomplete"
        yield from self._end_message(whole, self._text if heard is None else heard)
        self._usage = usage_json(usage)
        self._metadata = {**self._metadata, **report}
        yield {"type": "response.done", "response": self._shown(status, details)}

    def _begin(self, turn: int) -> Iterator[Fields]:
        if self.item is not None:
            return
        shown: Fields = {
            "id": self._new_id("item"),
            "object": "realtime.item",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        self.item = Item(shown, f"agent:{turn}", turn)
        yield from self._add(self.item)
        yield {"type": "response.content_part.added", **self._part_place(), "part": self._part("")}

    def _add(self, item: Item) -> Iterator[Fields]:
        before = None if self._items is None else self._items.add(item)
        place = {"response_id": self.id, "output_index": len(self._output)}
        yield {"type": "response.output_item.added", **place, "item": copied(item)}
        if self._items is not None:
            yield {"type": "conversation.item.added", "previous_item_id": before, "item": copied(item)}

    def _end_message(self, status: str, text: str) -> Iterator[Fields]:
        item = self.item
        if item is None or item.shown["status"] != "in_progress":
            return
        place = self._part_place()
        if self._choices.written:
            yield {"type": "response.output_text.done", **place, "text": text}
        else:
            yield {"type": "response.output_audio.done", **place}
            yield {"type": "response.output_audio_transcript.done", **place, "transcript": text}
        part = self._part(text)
        item.shown["content"], item.shown["status"] = [part], status
        yield {"type": "response.content_part.done", **place, "part": part}
        yield from self._end(item)

    def _end(self, item: Item) -> Iterator[Fields]:
        place = {"response_id": self.id, "output_index": len(self._output)}
        self._output.append(item.shown)
        yield {"type": "response.output_item.done", **place, "item": copied(item)}
        if self._items is not None:
            before = self._items.before(item)
            yield {"type": "conversation.item.done", "previous_item_id": before, "item": copied(item)}

    def _part_place(self) -> Fields:
        assert self.item is not None
        place = {"response_id": self.id, "item_id": self.item.id, "content_index": 0}
        return {**place, "output_index": len(self._output)}

    def _part(self, text: str) -> Fields:
        if self._choices.written:
            return {"type": "output_text", "text": text}
        return {"type": "output_audio", "transcript": text}

    def _shown(self, status: str, details: Fields | None) -> Fields:
        choices = self._choices
        output = {"format": format_json(choices.output_format or "audio/pcm"), "voice": choices.voice or "turngap"}
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": status,
            "status_details": details,
            "output": [dict(shown) for shown in self._output],
            "conversation_id": self._conversation,
            "output_modalities": ["text"] if choices.written else ["audio"],
            "max_output_tokens": choices.max_tokens or "inf",
            "audio": {"output": output},
            "usage": self._usage,
            "metadata": dict(self._metadata) or None,
        }


def copied(item: Item) -> Fields:
    """The item as it is now."""
    return dict(item.shown)


def usage_json(usage: Mapping[str, int | None]) -> Fields:
    """A complete usage. The protocol has no word for a number that is unknown: it is 0 here. All tokens are the
    language model's, hence text: what is heard and spoken is not counted in tokens."""
    prompt, cached = usage.get("prompt_tokens") or 0, usage.get("cached_tokens") or 0
    made = usage.get("completion_tokens") or 0
    return {
        "total_tokens": prompt + made,
        "input_tokens": prompt,
        "output_tokens": made,
        "input_token_details": {
            "text_tokens": prompt,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": cached,
            "cached_tokens_details": {"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {"text_tokens": made, "audio_tokens": 0},
    }
