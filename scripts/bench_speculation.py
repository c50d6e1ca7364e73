#!/usr/bin/env python3
"""What each layer of speculation wins, turn by turn: the same conversations with one more layer after the other.

    python3 scripts/bench_speculation.py --manifest MANIFEST --replies scripts/coffee.toml [--turns 44] [--json OUT]

A server is started for each set of layers, and all of them are there for the whole run; each conversation (orders and
queries by human voices, some in a row) is held with one after the other, so that whatever else the machine does falls
on all alike. Gaps are heard by the client; *content* is the first audible sample after any opener. A hit is a turn
that was answered by a reply known in advance, or by a draft that stood. What is said about an order is held against
its labels: the share of what was named (drink, size, milk ...) that the reply repeats, and the turns in which a layer
repeats less than the model alone does. Intervals are 95 %, by bootstrap over turns.
"""

import argparse
import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import monotonic
from turngap.budget.report.record import TurnRecord
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.normal import normal
from turngap.voice.client import options
from turngap.voice.client.clips import Clip, Ready, prepare
from turngap.voice.client.conversation import Conversation, write_json
from turngap.voice.client.own_server import running

SETS: Final = ("speech/picovoice-barista", "speech/google-docs-samples", "speech/microsoft-speech-sdk")
TURNS: Final = 4
"""In each conversation."""
LONGEST_S: Final = 8.0
"""Longer recordings are monologues, and no turns of a conversation."""
DRAWS: Final = 2000
LAYERS: Final = ("supposition", "draft", "reply", "opener")
SMALLER: Final = "whisper-tiny.en"


@dataclass(slots=True)
class Way:
    """One set of layers, and how its turns went."""

    name: str
    speculation: str
    more: tuple[str, ...] = ()
    """Other options of turngap serve."""
    records: list[TurnRecord] = field(default_factory=list)


def ways(replies: Path | None) -> list[Way]:
    known = "" if replies is None else f"replies={replies}"
    found = [
        Way("nothing", "none"),
        Way("draft at the pause", "pause?uncovered=-1e9"),
        Way("and on suppositions", "pause"),
        Way("and openers", "full"),
    ]
    if known:
        early = f"full?open_after=0&{known}"
        found += [
            Way("known replies, no openers", f"full?openers=off&{known}"),
            Way("everything", f"full?{known}"),
            Way("openers at the endpoint", early),
            Way("and a smaller recogniser", early, (f"--asr=whisper:{SMALLER}",)),
            Way("and foresight", f"{early}&foresight=on"),
        ]
    return found


def clips(manifest: Path, turns: int) -> list[tuple[Clip, dict[str, str]]]:
    """The first recordings of the sets, one of each in turn, and what their labels say was named."""
    rows = [json.loads(line) for line in manifest.read_text("utf-8").splitlines()]
    found: list[tuple[Clip, dict[str, str]]] = []
    for name in SETS:
        for row in rows:
            if row["set"] == name and row["speech_end_s"] and row["seconds"] - row["speech_segments_s"][0][0] < 12:
                if row["speech_end_s"] - row["speech_segments_s"][0][0] > LONGEST_S:
                    continue
                path = manifest.parent / row["file"]
                clip = Clip(path=path, name=path.stem[:12], speech_end_s=row["speech_end_s"], text=row.get("text"))
                found.append((clip, row.get("slots") or {}))
    orders = [each for each in found if each[1]]
    others = [each for each in found if not each[1]]
    mixed: list[tuple[Clip, dict[str, str]]] = []
    while (orders or others) and len(mixed) < turns:
        mixed += orders[:3] + others[:1]
        orders, others = orders[3:], others[1:]
    return mixed[:turns]


async def hold(found: Sequence[Way], groups: Sequence[Sequence[Ready]]) -> None:
    async with contextlib.AsyncExitStack() as stack:
        urls = []
        for way in found:
            print(f"starting: {way.name}", flush=True)
            server = running([f"--speculation={way.speculation}", *way.more], clock=monotonic, waiting=lambda _: None)
            urls.append((await stack.enter_async_context(server))[0])
        for number, group in enumerate(groups):
            for shift in range(len(found)):
                index = (number + shift) % len(found)
                conversation = Conversation(group)
                await conversation.hold(urls[index], clock=monotonic)
                found[index].records += conversation.records()
            print(f"{number + 1} of {len(groups)} conversations", flush=True)


def repeated(record: TurnRecord, slots: dict[str, str]) -> float | None:
    """The share of what was named that the reply repeats; None where nothing was."""
    words = [normal(value, ENGLISH) for value in slots.values()]
    said = set(normal(re.sub("-", " ", record.reply or ""), ENGLISH))
    shares = [sum(word in said for word in value) / len(value) for value in words if value]
    return float(np.mean(shares)) if shares else None


def spread(values: Sequence[float], of: Callable[[NDArray[np.float64]], float]) -> str:
    """A figure and its interval."""
    if not values:
        return "-"
    held = np.array(values)
    rng = np.random.default_rng(0)
    drawn = [of(held[rng.integers(0, len(held), len(held))]) for _ in range(DRAWS)]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return f"{of(held):.0f} ({low:.0f}-{high:.0f})"


def p(rank: float) -> Callable[[NDArray[np.float64]], float]:
    return lambda held: float(np.percentile(held, rank))


def share_within(ms: float) -> Callable[[NDArray[np.float64]], float]:
    return lambda held: float(100 * np.mean(held <= ms))


def row(way: Way, base: Way, slots: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The figures of one set of layers."""
    gaps = [record.heard_gap_ms for record in way.records if record.heard_gap_ms is not None]
    contents = [record.first_content_gap_ms for record in way.records if record.first_content_gap_ms is not None]
    layers = [record.speculation.get("layers", {}) for record in way.records]
    openers = [record.opener for record in way.records if record.opener]
    named = [repeated(record, each) for record, each in zip(way.records, slots, strict=True)]
    alone = [repeated(record, each) for record, each in zip(base.records, slots, strict=True)]
    both = [(one, two) for one, two in zip(named, alone, strict=True) if one is not None and two is not None]
    spoken = sum(int(_note(record, "completion_tokens")) for record in way.records)
    wasted = sum(int(record.speculation.get("wasted_tokens", 0)) for record in way.records)
    return {
        "layers": way.name,
        "turns": len(way.records),
        "answered": sum(record.answered for record in way.records),
        "cut_ins": sum(record.cut_in for record in way.records),
        "gap_p50": spread(gaps, p(50)),
        "gap_p95": spread(gaps, p(95)),
        "within_200": spread(gaps, share_within(200)),
        "content_p50": spread(contents, p(50)),
        "content_p95": spread(contents, p(95)),
        **{f"{layer}_{fate}": counted(layers, layer, fate) for layer in LAYERS for fate in ("started", "hit")},
        **{f"{layer}_won_ms": won(layers, layer) for layer in LAYERS},
        "discarded": sum(int(record.speculation.get("discarded", 0)) for record in way.records),
        "openers": len(openers),
        "commonest_opener": max((openers.count(each) for each in set(openers)), default=0),
        "tokens_made_per_spoken": None if not spoken else round((spoken + wasted) / spoken, 2),
        "wasted_audio_s": round(sum(record.speculation.get("wasted_samples", 0) for record in way.records) / 22_050, 1),
        "named": round(float(np.mean([one for one, _ in both])), 3) if both else None,
        "names_less": sum(one < two for one, two in both),
        "names_more": sum(one > two for one, two in both),
    }


def counted(layers: Sequence[dict[str, Any]], layer: str, fate: str) -> int:
    return sum(each.get(layer, {}).get(fate, 0) for each in layers)


def won(layers: Sequence[dict[str, Any]], layer: str) -> float | None:
    """The median over the turns in which the layer was a hit and it is known what it won."""
    known = [each[layer]["won_ms"] for each in layers if each.get(layer, {}).get("won_ms") is not None]
    return round(float(np.median(known))) if known else None


def _note(record: TurnRecord, key: str) -> float:
    entries = (record.ledger or {}).get("entries", ())
    return float(next((each["value"] or 0 for each in entries if each.get("note") == key), 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True, help="a manifest.jsonl beside its recordings")
    parser.add_argument("--replies", type=Path, help="known replies, as for turngap serve --speculation")
    parser.add_argument("--turns", type=int, default=44)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the sets of layers")
    parser.add_argument("--json", type=Path, help="write every turn there")
    args = parser.parse_args()
    chosen = clips(args.manifest, args.turns)
    detector = options.detector()
    ready = [prepare(clip, detector, turns=False) for clip, _ in chosen]
    groups = [ready[at : at + TURNS] for at in range(0, len(ready), TURNS)]
    found = [way for way in ways(args.replies) if not args.only or way.name in args.only]
    asyncio.run(hold(found, groups))
    rows = [row(way, found[0], [slots for _, slots in chosen]) for way in found]
    for key in rows[0]:
        print(f"{key:<24}" + "".join(f"{each[key]!s:>27}" for each in rows))
    if args.json:
        turns = {way.name: [record.to_json() for record in way.records] for way in found}
        write_json(args.json, {"rows": rows, "turns": turns})


if __name__ == "__main__":
    main()
