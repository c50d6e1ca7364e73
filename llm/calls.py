"""Function calls of a model that writes only text: how it is told of its tools, and how its calls are found. Pure.

A call is one JSON object between two marks, ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, the form that
most open instruct models were trained on. What stands between the marks is never spoken; what is no call that could be
made is dropped, for a sentence read aloud in braces helps nobody.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

OPEN: Final = "<tool_call>"
CLOSE: Final = "</tool_call>"
LONGEST: Final = 8_000
"""Characters of a call; what never ends is no call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the client can run; ``parameters`` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The model wants ``name`` to be run; ``arguments`` is the text of a JSON object."""

    name: str
    arguments: str


def with_tools(system: str, tools: Sequence[Tool], *, must: bool = False) -> str:
    """The system prompt of a model that may call ``tools``, or has to."""
    if not tools:
        return system
    listed = "\n".join(json.dumps(_listed(tool)) for tool in tools)
    when = "Call one of them now." if must else "Call one only if it is needed."
    return (
        f"{system}\n\nYou can call these functions:\n{listed}\n{when} To call, write only "
        f'{OPEN}{{"name": "...", "arguments": {{...}}}}{CLOSE}'
    ).strip()


def _listed(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


class Calls:
    """Tells apart, in a text that comes in pieces, what is to be spoken and what is a call of one of ``names``."""

    def __init__(self, names: Sequence[str]) -> None:
        self.found: list[Call] = []
        self._names = frozenset(names)
        self._held = ""
        self._inside = False

    def feed(self, text: str) -> str:
        """What of ``text``, and of what was held back before it, is to be spoken."""
        if not self._names:
            return text
        self._held += text
        spoken = ""
        while (part := self._next()) is not None:
            spoken += part
        return spoken

    def end(self) -> str:
        """What was held back and turned out to be no mark; an unfinished call is dropped."""
        rest, self._held = ("" if self._inside else self._held), ""
        return rest

    def _next(self) -> str | None:
        mark = CLOSE if self._inside else OPEN
        before, found, after = self._held.partition(mark)
        if found:
            self._held = after
            self._inside = not self._inside
            if self._inside:
                return before
            self._take(before)
            return ""
        if self._inside:
            self._inside = len(self._held) <= LONGEST
            self._held = self._held if self._inside else ""
            return None
        kept = next((size for size in range(len(mark) - 1, 0, -1) if self._held.endswith(mark[:size])), 0)
        spoken, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return spoken or None

    def _take(self, text: str) -> None:
        call = read_call(text)
        if call is not None and call.name in self._names:
            self.found.append(call)


def read_call(text: str) -> Call | None:
    """The call that ``text`` is; None if it is none."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
        return None
    arguments = fields.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _object(arguments)
    return Call(name=fields["name"], arguments=json.dumps(arguments)) if isinstance(arguments, dict) else None


def _object(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
