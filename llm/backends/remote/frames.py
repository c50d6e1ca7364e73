"""The events of a streamed answer, from its bytes, however these are cut. Pure.

Two ways of writing them: server-sent events, where a blank line ends an event and a line that begins with a colon is a
comment that keeps a connection awake; and lines of JSON.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

DONE: Final = "[DONE]"
"""The last event of a chat's stream, which is no JSON."""

LIMIT: Final = 4 * 1024 * 1024
"""An event of this size is none of a reply's: something else answers, and memory has an end."""


class Unreadable(ValueError):
    """Bytes that are no event of a stream."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event: its name where it has one, and what it holds; ``done`` where it is only the mark of the end."""

    name: str
    content: dict[str, Any]
    done: bool = False


class Lines:
    """Lines of JSON, one event each."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, received: bytes) -> Iterator[Frame]:
        """The events that are complete now; Unreadable where one cannot be read."""
        yield from (Frame("", _parsed(line)) for line in self._complete(received) if line.strip())

    def _complete(self, received: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + received).split(b"\n")
        if len(self._rest) > LIMIT:
            raise Unreadable("a line that does not end")
        return [line.removesuffix(b"\r") for line in lines]


class Events(Lines):
    """Server-sent events; comments and events without content are passed over."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._content: list[bytes] = []
        self.comments = 0

    def feed(self, received: bytes) -> Iterator[Frame]:
        """The events that are complete now; Unreadable where one cannot be read."""
        for line in self._complete(received):
            if not line:
                yield from self._end()
            elif line.startswith(b":"):
                self.comments += 1
            else:
                self._take(line)

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"data":
            self._content.append(value)
        elif field not in (b"id", b"retry"):
            raise Unreadable("a line that belongs to no event")

    def _end(self) -> Iterator[Frame]:
        name, content = self._name, b"\n".join(self._content)
        self._name, self._content = "", []
        if content.strip() == DONE.encode():
            yield Frame(name, {}, done=True)
        elif content:
            yield Frame(name, _parsed(content))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError as error:  # of which a wrong encoding is one
        raise Unreadable("an event that is not JSON") from error
    if not isinstance(content, dict):
        raise Unreadable("an event that is no object")
    return content
