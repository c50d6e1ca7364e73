"""Replies that a developer writes down, as TOML::

    [intents.hours]
    utterances = ["when do you open", "what are your opening hours"]

    [[reply]]
    intent = "hours"
    say = "We open at seven."

    [[reply]]
    when = ["yes", "yes please"]
    after = "Would you like a receipt?"
    say = ["Here you are.", "There you go."]    # they take turns

``after`` is what the agent has said just before, or a label that the application gives to that state; without it the
reply fits anywhere. Every mistake is a ConfigurationError that names the file, the entry and the remedy.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.stored import StoredReply

_ENTRY: Final = ("say", "when", "intent", "after")
_EXAMPLE: Final = 'Write [[reply]] with say = "We open at seven." and when = ["when do you open"]'


def read_replies(path: Path) -> list[StoredReply]:
    """The replies in the file at ``path``."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", remedy="Check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not text: {error}", remedy="Save it as UTF-8") from error
    return parse_replies(text, str(path))


def parse_replies(text: str, name: str) -> list[StoredReply]:
    """The replies in ``text``, which came from ``name``."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{name} is not TOML: {error}", remedy=_EXAMPLE) from error
    _refuse_unknown(content, ("reply", "intents"), name)
    intents = _intents(content.get("intents", {}), name)
    entries = content.get("reply", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigurationError(f"{name}: reply is no list of tables", remedy="Write [[reply]], in two brackets")
    return [_reply(entry, intents, f"{name}: reply {number}") for number, entry in enumerate(entries, 1)]


def _intents(content: object, name: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise ConfigurationError(
            f"{name}: intents are no tables", remedy='Write [intents.hours] and under it utterances = ["..."]'
        )
    found = {}
    for intent, entry in content.items():
        where = f"{name}: intent '{intent}'"
        _refuse_unknown(entry, ("utterances",), where)
        found[intent] = _texts(entry, "utterances", where)
    return found


def _reply(entry: Mapping[str, Any], intents: Mapping[str, tuple[str, ...]], where: str) -> StoredReply:
    _refuse_unknown(entry, _ENTRY, where)
    intent, after = _text(entry, "intent", where), _text(entry, "after", where)
    if intent and intent not in intents:
        raise ConfigurationError(
            f"{where} is for intent '{intent}', which there is not",
            remedy=f"Known: {', '.join(intents) or 'none'}; add [intents.{intent}] with utterances",
        )
    if not intent and "when" not in entry:
        raise ConfigurationError(f"{where} does not say when it is said", remedy='Add when = ["..."] or intent = "..."')
    utterances = (*intents.get(intent, ()), *(_texts(entry, "when", where) if "when" in entry else ()))
    return StoredReply(utterances=utterances, says=_texts(entry, "say", where), state=after, intent=intent)


def _refuse_unknown(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            raise ConfigurationError(f"{where} has an unknown key '{key}'", remedy=f"Known: {', '.join(known)}")


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise ConfigurationError(f"{where}: {key} is {value!r}", remedy=f'Write {key} = "..."')
    return value


def _texts(entry: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """One text or a list of them; at least one, and none of them empty."""
    value = entry.get(key)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) and each.strip() for each in texts):
        raise ConfigurationError(
            f"{where}: {key} is {'missing' if value is None else repr(value)}",
            remedy=f'Write {key} = "..." or ["...", "..."]',
        )
    return tuple(each.strip() for each in texts)
