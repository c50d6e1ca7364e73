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

    joints = ["with", "and", "of"]
    wishes = ["brew", "make me"]            # beside "I'd like" and the like

    [slots]
    drink = ["latte", "iced mocha"]
    size = ["small", "20 ounce"]

    [[form]]
    must = ["drink"]
    may = ["size"]
    say = "{asked}, coming up. Anything else?"    # {asked} is what the user has named, in his own words

``after`` is what the agent has said just before, or a label that the application gives to that state; without it the
reply fits anywhere. ``after = "* order correct"`` fits after any last sentence that has these words, not denied. Every
mistake is a ConfigurationError that names the file, the entry and the remedy.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Final

from turngap.budget.errors import ConfigurationError
from turngap.llm.speculation.forms import Form, Forms
from turngap.llm.speculation.language import Language
from turngap.llm.speculation.stored import StoredReply

_TOP: Final = ("reply", "intents", "form", "slots", "wishes", "joints")
_ENTRY: Final = ("say", "when", "intent", "after")
_EXAMPLE: Final = 'Write [[reply]] with say = "We open at seven." and when = ["when do you open"]'


def read_replies(path: Path) -> list[StoredReply]:
    """The replies in the file at ``path``."""
    return parse_replies(_read(path), str(path))


def read_forms(path: Path, language: Language) -> Forms | None:
    """The forms in the file at ``path``; None if it has none."""
    return parse_forms(_read(path), str(path), language)


def parse_forms(text: str, name: str, language: Language) -> Forms | None:
    """The forms in ``text``, which came from ``name``."""
    content = _content(text, name)
    entries = _tables(content.get("form", []), name, "form")
    if not entries:
        return None
    slots = content.get("slots")
    if not isinstance(slots, dict) or not slots:
        raise ConfigurationError(f"{name}: there are forms and no slots", remedy='Add [slots] with drink = ["latte"]')
    return Forms(
        language,
        slots={slot: _texts(slots, slot, f"{name}: slots") for slot in slots},
        forms=[_form(entry, set(slots), f"{name}: form {number}") for number, entry in enumerate(entries, 1)],
        wishes=_texts(content, "wishes", name) if "wishes" in content else (),
        joints=_texts(content, "joints", name) if "joints" in content else (),
    )


def _form(entry: Mapping[str, Any], slots: set[str], where: str) -> Form:
    _refuse_unknown(entry, ("must", "may", "say"), where)
    must = frozenset(_texts(entry, "must", where))
    may = frozenset(_texts(entry, "may", where) if "may" in entry else ())
    says = _texts(entry, "say", where)
    if missing := sorted((must | may) - slots):
        raise ConfigurationError(
            f"{where} names slot '{missing[0]}', which there is not", remedy=f"Known: {', '.join(sorted(slots))}"
        )
    for say in says:
        for _, field, _, _ in Formatter().parse(say):
            if field is not None and field not in must | {"asked"}:
                raise ConfigurationError(
                    f"{where} says {{{field}}}, which may be missing", remedy="Use {asked}, or a slot under must"
                )
    return Form(must=must, may=may, says=says)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", remedy="Check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not text: {error}", remedy="Save it as UTF-8") from error


def _content(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{name} is not TOML: {error}", remedy=_EXAMPLE) from error


def _tables(entries: object, name: str, key: str) -> list[dict[str, Any]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigurationError(f"{name}: {key} is no list of tables", remedy=f"Write [[{key}]], in two brackets")
    return entries


def parse_replies(text: str, name: str) -> list[StoredReply]:
    """The replies in ``text``, which came from ``name``."""
    content = _content(text, name)
    _refuse_unknown(content, _TOP, name)
    intents = _intents(content.get("intents", {}), name)
    entries = _tables(content.get("reply", []), name, "reply")
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
