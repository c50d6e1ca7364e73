"""Readers of public dialogue sets: what the agent had said, what the user then said, and what was answered.

Each set is a folder of its own below one data folder, with the files as they are published. Turns of one speaker in a
row are one turn. Acts are what the annotators say a reply does, with the values that it names; None where nobody
annotated it. A state is what an application of the kind would know before the user speaks: what its own last turn did.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

from turngap.llm.speculation.learning import Exchange

Acts = frozenset[str]


class Said(NamedTuple):
    """A turn of either speaker; of the agent's, what it did, as a name for the state that it leaves and in full."""

    by_user: bool
    text: str
    state: str = ""
    acts: Acts | None = None
    slots: tuple[tuple[str, str], ...] = ()
    """What the user named, in his own words, as far as the annotators say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """One conversation, as its exchanges and what the annotators say of each reply."""

    id: str
    exchanges: tuple[Exchange, ...]
    acts: tuple[Acts | None, ...]

    @property
    def learned(self) -> bool:
        """Whether it is of the half that is learned from; tells the same in every run."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 0


def dialogue(id: str, said: Sequence[Said]) -> Dialogue:
    """The exchanges of what was said. A turn that was not answered is none."""
    turns = _joined_turns(said)
    found: list[Exchange] = []
    before = Said(False, "")
    acts: list[Acts | None] = []
    for one, two in pairwise(turns):
        if not one.by_user:
            before = one
            continue
        act = " ".join(sorted(two.acts)) if two.acts else ""
        found.append(
            Exchange(after=before.text, said=one.text, reply=two.text, state=before.state, act=act, slots=one.slots)
        )
        acts.append(two.acts)
    return Dialogue(id=id, exchanges=tuple(found), acts=tuple(acts))


def _joined_turns(said: Sequence[Said]) -> list[Said]:
    turns: list[Said] = []
    for each in said:
        if turns and turns[-1].by_user == each.by_user:
            before = turns.pop()
            acts = None if before.acts is None or each.acts is None else before.acts | each.acts
            text, slots = f"{before.text} {each.text}", (*before.slots, *each.slots)
            each = Said(each.by_user, text, each.state or before.state, acts, slots)
        turns.append(each)
    return turns


def taskmaster(folder: Path) -> Iterator[Dialogue]:
    """Coffee orders, both sides written by one person. The calls after a user's turn are what the reply reports."""
    for path in _files(folder, "data_*.json"):
        for each in _json(path):
            said = []
            call = ""
            for turn in each["utterances"]:
                if turn["speaker"] == "user":
                    call = _last_call(turn)
                    said.append(Said(True, turn["text"], slots=tuple(_ordered(turn))))
                else:
                    said.append(Said(False, turn["text"], call, frozenset([call or "none"])))
            yield dialogue(each["conversation_id"], said)


def _last_call(turn: Mapping[str, Any]) -> str:
    calls = [each["value"] for each in turn["annotations"] if each["name"] == "api_call"]
    return str(calls[-1]) if calls else ""


def _ordered(turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What of an order is in the user's own words: the menu is asked for the drink, and the order gets its options."""
    call = ""
    for each in turn["annotations"]:
        call = each["value"] if each["name"] == "api_call" else call
        if each["name"] == "request":
            try:
                request = json.loads(each["value"])
            except ValueError:
                continue  # a few are no JSON
            options = [(one.get("attribute_id"), one.get("option")) for one in request.get("attributes", ())]
            query = [("drink", request.get("query"))] if call == "get_menu_items" else []
            for slot, value in (*query, *options):
                if slot and isinstance(value, str) and value.strip() and value.strip().lower() in turn["text"].lower():
                    yield slot.lower(), value.strip()


def star(folder: Path) -> Iterator[Dialogue]:
    """People typing with people who may pick a suggested reply."""
    for path in _files(folder, "dialogues/*.json"):
        events = [each for each in _json(path)["Events"] if each["Action"] in ("utter", "pick_suggestion")]
        said = [_event(each) for each in events if each["Agent"] in _SPEAKERS]
        yield dialogue(path.stem, said)


_SPEAKERS: Final = ("User", "Wizard")


def _event(event: Mapping[str, Any]) -> Said:
    label = event.get("ActionLabel", "")
    return Said(event["Agent"] == "User", event["Text"], label, frozenset([label]) if label else None)


def sgd(folder: Path) -> Iterator[Dialogue]:
    """Simulated dialogues in many domains, worded by people."""
    for path in _files(folder, "dialogues_*.json"):
        for each in _json(path):
            yield dialogue(each["dialogue_id"], [_turn(turn) for turn in each["turns"]])


def _turn(turn: Mapping[str, Any]) -> Said:
    actions = [action for frame in turn["frames"] for action in frame["actions"]]
    acts = frozenset(" ".join([each["act"], each["slot"], *each["values"]]).strip() for each in actions)
    state = " ".join(sorted({f"{each['act']}.{each['slot']}".rstrip(".") for each in actions}))
    if turn["speaker"] == "USER":
        return Said(True, turn["utterance"], slots=tuple(_spans(turn)))
    return Said(False, turn["utterance"], state, acts)


def _spans(turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for frame in turn["frames"]:
        for slot in frame["slots"]:
            yield slot["slot"], turn["utterance"][slot["start"] : slot["exclusive_end"]]


def multiwoz(folder: Path) -> Iterator[Dialogue]:
    """People typing with people about a town."""
    for path in _files(folder, "*.json.zip"):
        with ZipFile(path) as archive:
            logs = json.loads(archive.read(archive.namelist()[0]))
        for id, each in logs.items():
            said = [_entry(turn, by_user=number % 2 == 0) for number, turn in enumerate(each["log"])]
            yield dialogue(id, said)


def _entry(turn: Mapping[str, Any], *, by_user: bool) -> Said:
    text, acts = _joined(turn["text"]), turn.get("dialog_act")
    named = acts if isinstance(acts, dict) else {}
    pairs = [(act, slot, value) for act, values in named.items() for slot, value in values]
    if by_user:
        informed = [
            (slot, value) for act, slot, value in pairs if act.endswith("Inform") and value.lower() in text.lower()
        ]
        return Said(True, text, slots=tuple(informed))
    state = " ".join(sorted({f"{act}.{slot}" for act, slot, _ in pairs}))
    return Said(False, text, state, frozenset(" ".join(each) for each in pairs) if pairs else None)


_SPACED: Final = re.compile(r" (n't|'[a-z]+|[.,?!;:])(?=\s|$)")


def _joined(text: str) -> str:
    """Text whose tokens were set apart, as it was written."""
    return _SPACED.sub(r"\1", text)


def dstc10(folder: Path) -> Iterator[Dialogue]:
    """What a recogniser made of people talking. The logs are of dialogues up to some turn: the longest counts."""
    paths = [path for name in ("logs.json", "labels.json") for path in _files(folder, name)]
    logs, labels = map(_json, paths)
    whole: dict[tuple[str, ...], Dialogue] = {}
    for log, label in sorted(zip(logs, labels, strict=True), key=lambda each: -len(each[0])):
        said = [Said(turn["speaker"] == "U", turn["text"]) for turn in log]
        texts = tuple(each.text for each in said)
        if any(known[: len(texts)] == texts for known in whole):
            continue
        answer = [Said(False, label["response"])] if label["target"] else []
        whole[texts] = dialogue(texts[0], [*said, *answer])
    yield from whole.values()


SETS: Final[Mapping[str, Callable[[Path], Iterator[Dialogue]]]] = {
    "taskmaster-4": taskmaster,
    "star": star,
    "sgd-dev": sgd,
    "multiwoz21": multiwoz,
    "dstc10-spoken": dstc10,
}
"""By the names of their folders."""


def _files(folder: Path, pattern: str) -> list[Path]:
    """Raises FileNotFoundError if there are none."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise FileNotFoundError(f"{folder} has no {pattern}")
    return paths


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
