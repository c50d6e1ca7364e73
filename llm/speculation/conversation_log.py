"""What was said in earlier conversations, as logs tell it.

An application writes one conversation a line, as JSON::

    {"turns": [{"speaker": "agent", "text": "Is that right?", "state": "confirming"},
               {"speaker": "user", "text": "Yes."},
               {"speaker": "agent", "text": "It will be ready soon.", "act": "finish"}]}

``state`` is the name that the application gives to where the dialogue is when the agent has said this, and is what
``after`` names in a file of replies; ``act`` is what the agent does in these words, with the values that it names. A
user's turn may have ``slots``, what was named in it, in the user's words: ``{"drink": "iced latte"}``. All three may be
left out. What ``turngap bench --json`` or ``--save`` wrote is read as well: a conversation begins with its turn 1, and
every turn has a ``transcript`` and a ``reply``. Every mistake is a ConfigurationError that names the place.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.learning import Exchange

SPEAKERS: Final = ("user", "agent")
_EXAMPLE: Final = '{"turns": [{"speaker": "user", "text": "..."}, {"speaker": "agent", "text": "..."}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What one of the two said, and of the agent what it was for."""

    by_user: bool
    text: str
    state: str = ""
    act: str = ""
    slots: tuple[tuple[str, str], ...] = ()
    """What the user named, by slot and in his own words."""


def exchanges(said: Iterable[Logged]) -> Iterator[Exchange]:
    """The exchanges of one conversation. A turn that was not answered is none; of two in a row the last counts."""
    before = Logged(by_user=False, text="")
    for one, two in pairwise(said):
        if not one.by_user:
            before = one
        elif not two.by_user and one.text.strip() and two.text.strip():
            yield Exchange(
                after=before.text, said=one.text, reply=two.text, state=before.state, act=two.act, slots=one.slots
            )


def read_log(path: Path) -> list[list[Exchange]]:
    """The conversations in the file at ``path``."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", remedy="Check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not text: {error}", remedy="Save it as UTF-8") from error
    return parse_log(text, str(path))


def parse_log(text: str, name: str) -> list[list[Exchange]]:
    """The conversations in ``text``, which came from ``name``."""
    whole = _json(text)
    if whole is not None:
        return [list(exchanges(each)) for each in _conversations(whole, name)]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            content = _json(line)
            if content is None:
                raise ConfigurationError(f"{name}:{number} is no JSON", remedy=f"Write {_EXAMPLE} on each line")
            found += [list(exchanges(each)) for each in _conversations(content, f"{name}:{number}")]
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _conversations(content: object, where: str) -> Iterator[list[Logged]]:
    rows = content.get("per_turn", content.get("turns")) if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigurationError(f"{where} is no conversation", remedy=f"Write {_EXAMPLE}")
    if rows and "transcript" in rows[0]:
        yield from _measured(rows)
    else:
        yield [_said(row, f"{where}: turn {number}") for number, row in enumerate(rows, 1)]


def _measured(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Logged]]:
    """Conversations whose turns were measured, one after the other."""
    said: list[Logged] = []
    for row in rows:
        if row.get("turn") == 1 and said:
            yield said
            said = []
        said.append(Logged(by_user=True, text=str(row["transcript"] or "")))
        said.append(Logged(by_user=False, text=str(row.get("reply") or "")))
    yield said


def _said(row: Mapping[str, Any], where: str) -> Logged:
    speaker, text = row.get("speaker"), row.get("text")
    if speaker not in SPEAKERS:
        raise ConfigurationError(f"{where}: speaker is {speaker!r}", remedy=f"Known: {', '.join(SPEAKERS)}")
    named = [row.get(key, "") for key in ("state", "act")]
    if not all(isinstance(each, str) for each in (text, *named)):
        raise ConfigurationError(f"{where}: text, state and act are texts", remedy=f"Write {_EXAMPLE}")
    slots = row.get("slots", {})
    if not isinstance(slots, dict) or not all(isinstance(each, str) for each in slots.values()):
        raise ConfigurationError(f"{where}: slots are no texts by name", remedy='Write "slots": {"drink": "latte"}')
    return Logged(by_user=speaker == "user", text=str(text), state=named[0], act=named[1], slots=tuple(slots.items()))
