"""Replies as the text of a file that a developer reads over and changes, before anybody hears them. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from turngap.llm.speculation.forms import Form
from turngap.llm.speculation.stored import StoredReply


def reply_text(
    replies: Iterable[StoredReply],
    *,
    slots: Mapping[str, Sequence[str]] | None = None,
    forms: Sequence[Form] = (),
    joints: Sequence[str] = (),
) -> str:
    """What :func:`reply_file.parse_replies` and :func:`reply_file.parse_forms` read as these."""
    return "\n".join([*_forms(slots or {}, forms, joints), *_replies(replies)])


def _forms(slots: Mapping[str, Sequence[str]], forms: Sequence[Form], joints: Sequence[str]) -> Iterator[str]:
    if not forms:
        return
    yield f"joints = {_list(joints)}\n"
    yield "[slots]"
    yield from (f"{json.dumps(slot)} = {_list(values)}" for slot, values in slots.items())
    yield ""
    for form in forms:
        yield "[[form]]"
        yield f"must = {_list(sorted(form.must))}"
        if form.may:
            yield f"may = {_list(sorted(form.may))}"
        yield f"say = {_list(form.says)}\n"


def _replies(replies: Iterable[StoredReply]) -> Iterator[str]:
    for reply in replies:
        yield "[[reply]]"
        yield f"when = {_list(reply.utterances)}"
        if reply.state:
            yield f"after = {_text(reply.state)}"
        yield f"say = {_list(reply.says)}\n"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """A basic string, which is a JSON string but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
