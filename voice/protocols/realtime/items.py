"""The items of a conversation as a Realtime client sees them: their order, and what they mean to our history. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from turngap.budget.errors import ClientError
from turngap.llm.calls import CLOSE, OPEN
from turngap.llm.protocol import Role
from turngap.voice.protocols.realtime.config import LONGEST_TEXT, mapping, refused

MOST_ITEMS: Final = 2_000
"""Of one conversation; the oldest go first, as the context would have lost them long before."""

TEXTS: Final = {"user": ("input_text",), "system": ("input_text",), "assistant": ("output_text", "text")}


@dataclass(slots=True)
class Item:
    """One item, as the client sees it, and what it is called in our history."""

    shown: dict[str, Any]
    key: str
    turn: int = 0
    samples: int | None = None
    """How much audio was sent of it, if it is a reply's, at the rate at which it was sent."""

    @property
    def id(self) -> str:
        return str(self.shown["id"])


class Items:
    """In order. What is not there is refused with ClientError."""

    def __init__(self) -> None:
        self._items: list[Item] = []

    @property
    def last_id(self) -> str | None:
        return self._items[-1].id if self._items else None

    def find(self, id: object, param: str = "item_id") -> Item:
        found = next((item for item in self._items if item.id == id), None)
        if found is None:
            raise ClientError("item_not_found", f"Invalid '{param}': there is no item {id!r}.", remedy=param)
        return found

    def has(self, id: object) -> bool:
        return any(item.id == id for item in self._items)

    def of_turn(self, turn: int) -> list[Item]:
        """The replies of ``turn``."""
        return [item for item in self._items if item.turn == turn and item.samples is not None]

    def before(self, item: Item) -> str | None:
        """The id of the one before ``item``; None for the first, and for one that was deleted."""
        at = next((place for place, each in enumerate(self._items) if each is item), 0)
        return self._items[at - 1].id if at else None

    def add(self, item: Item, *, after: str | None = None) -> str | None:
        """Put ``item`` after that one, or first after ``root``, or last; the id of the one before it."""
        at = len(self._items)
        if after is not None:
            at = 0 if after == "root" else self._items.index(self.find(after, "previous_item_id")) + 1
        self._items.insert(at, item)
        before = self._items[at - 1].id if at else None
        if len(self._items) > MOST_ITEMS:
            del self._items[0]
        return before

    def remove(self, id: object) -> Item:
        found = self.find(id)
        self._items.remove(found)
        return found


def written(given: object, *, id: str) -> tuple[Item, Role, str]:
    """The item that a client wrote, whose it is, and what it says to a model. Raises ClientError."""
    fields = mapping(given, "item")
    own = fields.get("id")
    if own is not None and not (isinstance(own, str) and 0 < len(own) <= 64):
        raise refused("item.id", "give a text of at most 64 characters")
    id = own or id
    match fields.get("type"):
        case "message":
            role, text, content = _message(fields)
            shown = {"type": "message", "role": role.value, "content": content}
        case "function_call":
            role, text, shown = Role.ASSISTANT, *_call(fields)
        case "function_call_output":
            output = _text(fields.get("output"), "item.output")
            call_id = _text(fields.get("call_id"), "item.call_id")
            role, text = Role.USER, f"<tool_response>{output}</tool_response>"
            shown = {"type": "function_call_output", "call_id": call_id, "output": output}
        case other:
            raise refused("item.type", f"there are no items of type {other!r}")
    return Item({"id": id, "object": "realtime.item", "status": "completed", **shown}, key=id), role, text


def _message(fields: Mapping[str, Any]) -> tuple[Role, str, list[dict[str, Any]]]:
    role = fields.get("role")
    if not isinstance(role, str) or role not in TEXTS:
        raise refused("item.role", f"choose one of {', '.join(TEXTS)}")
    content = fields.get("content")
    if not isinstance(content, list) or not content:
        raise refused("item.content", "give a list of parts")
    parts = [_part(mapping(part, "item.content"), role) for part in content]
    text = " ".join(part.get("text") or part.get("transcript") or "" for part in parts)
    return Role(role), text, parts


def _part(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind in TEXTS[role]:
        return {"type": kind, "text": _text(part.get("text"), "item.content.text")}
    if kind in ("input_audio", "output_audio") and part.get("transcript") is not None:
        return {"type": kind, "transcript": _text(part["transcript"], "item.content.transcript")}
    raise refused("item.content.type", f"{kind!r} cannot be said by {role} here; send audio to the input buffer")


def _call(fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, arguments = _text(fields.get("name"), "item.name"), _text(fields.get("arguments"), "item.arguments")
    call_id = _text(fields.get("call_id"), "item.call_id")
    shown = {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}
    return f'{OPEN}{{"name": {json.dumps(name)}, "arguments": {arguments}}}{CLOSE}', shown


def _text(given: object, where: str) -> str:
    if not isinstance(given, str) or len(given) > LONGEST_TEXT:
        raise refused(where, f"give a text of at most {LONGEST_TEXT} characters")
    return given
