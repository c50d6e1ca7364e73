"""Speculation by name.

=========  ==========================================================================================
``none``   a reply is begun at the endpoint
``pause``  and sooner: as soon as a pause has its words, and where the words that will be heard are
           as good as known, at once
``full``   and replies that are known in advance are said without asking the model, and while the
           reply is not ready an opener is
=========  ==========================================================================================

``full?replies=FILE`` reads the known replies from a TOML file, or from a folder that ``turngap replies build`` made of
one, with their audio. ``mark`` is the fingerprint that these must have. ``full?openers=off`` has no openers;
``open_after=0`` says one at the endpoint, instead of 300 ms later. With ``foresight=on`` the model is asked between
the turns what the user may say next, and answers it, which pays with a model that knows. ``uncovered=160`` is how much
of the voice, in ms, a hypothesis may lack to be drafted for.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from turngap.budget.clock import MS
from turngap.budget.errors import ConfigurationError
from turngap.llm.spec import Registry, Spec
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.english_openers import ENGLISH_OPENERS
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.policy import Covered
from turngap.llm.speculation.replies import Replies
from turngap.llm.speculation.reply_file import read_forms
from turngap.voice.manner import Speculation
from turngap.voice.ready import kept_replies

OPEN_AFTER_MS: Final = 300.0
"""Of 89 orders and queries 11 % have a pause that is taken for their end. Who hears an opener in it: 11 % at the
endpoint, 8 % after 100 ms, 7 after 200, 4.5 after 300."""


def same(one: str, other: str) -> bool:
    """Whether two texts say the same: case, punctuation, fillers and the spelling of numbers aside."""
    return normal(one, ENGLISH) == normal(other, ENGLISH)


def _none(spec: Spec, *, mark: str) -> Speculation:
    spec.reject_unknown(set())
    return Speculation(at_pause=False)


def _pause(spec: Spec, *, mark: str) -> Speculation:
    spec.reject_unknown({"uncovered"})
    return Speculation(supposes=_covered(spec), same=same)


def _full(spec: Spec, *, mark: str) -> Speculation:
    spec.reject_unknown({"uncovered", "openers", "replies", "foresight", "open_after"})
    path = spec.options.get("replies")
    return Speculation(
        supposes=_covered(spec),
        same=same,
        openers=ENGLISH_OPENERS if _switched(spec, "openers", default="on") else None,
        open_after=round(spec.number("open_after", OPEN_AFTER_MS) * MS),
        replies=None if path is None else _replies(Path(path), mark),
        forms=None if path is None or Path(path).is_dir() else read_forms(Path(path), ENGLISH),
        foresees=_switched(spec, "foresight", default="off"),
        foreseen=partial(Replies, ENGLISH),
    )


def _covered(spec: Spec) -> Covered:
    return Covered(uncovered_ms=spec.number("uncovered", Covered().uncovered_ms))


def _switched(spec: Spec, key: str, *, default: str) -> bool:
    value = spec.options.get(key, default)
    if value not in ("on", "off"):
        raise ConfigurationError(f"{key}={value} is no choice", remedy="Choose: on, off")
    return value == "on"


def _replies(path: Path, mark: str) -> Replies:
    replies = Replies(ENGLISH)
    for kept in kept_replies(path, mark):
        replies.add(kept.reply)
    return replies


Maker = Callable[[Spec], Speculation]

SPECULATION: Final = Registry[Speculation](
    "speculation", "turngap.speculation", {"none": _none, "pause": _pause, "full": _full}
)
