"""A request that came to an emulator, and what became of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Cut(Exception):
    """The connection is to end here, as one that broke."""


@dataclass(slots=True)
class Asked:
    """A request that came."""

    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    http: str
    given_up: bool = False
    """Whether its client left before the end of the answer."""
    came: int = 0
    """When all of it was there, in ns."""
    first_left: int | None = None
    """When the first token really left: a busy machine is later than it was told to be."""
    last_left: int | None = None
    sent: int = 0
    """Bytes of the answer that left."""

    @property
    def body(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.raw or b"{}")
        return content
