#!/usr/bin/env python3
"""Replies to nobody: recordings in which nobody speaks, through the hearing of ``turngap serve``.

Each recording of the manifest's ``noise/`` sets is heard alone, then every pair of them mixed (at their own levels, the
shorter one over and over). A turn that gets words would be answered. Room responses are no sounds and left out;
recordings in which the manifest has speech are reported, and counted apart.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from offline import Ear, Heeded
from rich.console import Console
from rich.table import Table

from turngap.voice.asr.protocol import ASR_RATE_HZ
from turngap.voice.client import room_tone
from turngap.voice.client.clips import rows
from turngap.voice.client.recording import read, resampled
from turngap.voice.models.store import find
from turngap.voice.settings import Settings


@dataclass(frozen=True, slots=True)
class Noise:
    """A recording, and whether somebody speaks in it after all."""

    name: str
    samples: NDArray[np.float32]
    rate_hz: int
    spoken: bool

    def at_16k(self, seconds: float) -> NDArray[np.float32]:
        """Exactly so much of it, repeated without a seam where it is shorter."""
        samples = resampled(self.samples, self.rate_hz, ASR_RATE_HZ)
        size = round(seconds * ASR_RATE_HZ)
        return samples[:size] if len(samples) >= size else np.resize(room_tone.loop(samples, ASR_RATE_HZ), size)


def load(manifest: Path) -> list[Noise]:
    """The manifest's noises, room responses left out."""
    found = []
    for row in rows(manifest):
        path = manifest.parent / row["file"]
        if str(row["set"]).startswith("noise/") and not path.name.startswith("rir"):
            recording = read(path)
            found.append(Noise(path.stem, recording.mono, recording.rate_hz, bool(row["speech_segments_s"])))
    return found


def pairs(noises: Sequence[Noise], longest_s: float) -> Iterator[Noise]:
    """Every two of them at once."""
    for one, other in combinations(noises, 2):
        seconds = min(longest_s, max(len(each.samples) / each.rate_hz for each in (one, other)))
        mixed = one.at_16k(seconds) + other.at_16k(seconds)
        mixed /= max(1.0, float(np.abs(mixed).max()))
        yield Noise(f"{one.name} + {other.name}", mixed, ASR_RATE_HZ, one.spoken or other.spoken)


def table(title: str, heard: Sequence[tuple[Noise, Heeded]]) -> Table:
    shown = Table("recording", "s", "voiced s", "turns", "replies", "words", title=title)
    for noise, heeded in heard:
        words = " | ".join(turn.text for turn in heeded.turns if turn.text)
        mark = " (speech)" if noise.spoken else ""
        shown.add_row(
            noise.name + mark,
            f"{heeded.seconds:.1f}",
            f"{heeded.voiced_s:.1f}",
            str(len(heeded.turns)),
            str(heeded.replies),
            words,
        )
    return shown


def summary(title: str, heard: Sequence[tuple[Noise, Heeded]]) -> str:
    parts = []
    for spoken, what in ((False, "nobody speaks"), (True, "somebody does")):
        some = [heeded for noise, heeded in heard if noise.spoken == spoken]
        parts.append(
            f"{what}: {sum(each.replies for each in some)} replies to {sum(len(each.turns) for each in some)} turns "
            f"in {len(some)} recordings, {sum(each.seconds for each in some):.0f} s"
        )
    return f"{title}; " + "; ".join(parts)


async def run(options: argparse.Namespace) -> None:
    noises = [noise for noise in load(options.manifest) if not options.only or options.only in noise.name]
    ear = Ear(Settings(endpointing=options.endpointing, asr=options.asr), find_model=find)
    await ear.recognizer.warm()
    kept = []
    chosen: list[tuple[str, Iterator[Noise]]] = [("alone", iter(noises))]
    if not options.no_pairs:
        chosen.append(("pairs", pairs(noises, options.pair_seconds)))
    for title, some in chosen:
        heard = []
        for noise in some:
            heard.append((noise, await ear.hear(noise.name, noise.samples, noise.rate_hz)))
            if sys.stderr.isatty():
                print(f"\r{title} {len(heard)}", end="", file=sys.stderr)
        shown = heard if title == "alone" else [each for each in heard if each[1].turns]
        Console(width=options.width).print(table(title if title == "alone" else "pairs that made a turn", shown))
        print(summary(title, heard))
        kept += [{"kind": title, "spoken": noise.spoken, **asdict(heeded)} for noise, heeded in heard]
    if options.json is not None:
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    await ear.aclose()


def main() -> None:
    usual = Settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True, help="a manifest.jsonl beside its recordings")
    parser.add_argument("--endpointing", default=usual.endpointing, metavar="SPEC")
    parser.add_argument("--asr", default=usual.asr, metavar="SPEC")
    parser.add_argument("--only", metavar="PART", help="recordings with this in their name")
    parser.add_argument("--no-pairs", action="store_true")
    parser.add_argument("--pair-seconds", type=float, default=30.0, help="at most so much of a pair")
    parser.add_argument("--width", type=int, default=140)
    parser.add_argument("--json", type=Path, help="keep every turn there")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
