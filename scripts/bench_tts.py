"""How soon Piper is heard when it is decoded in chunks, beside Piper as it comes, in one interleaved run.

    python scripts/bench_tts.py [--folder VOICE] [--runs 15] [--threads 1] [--json OUT]

Three ways of saying the same twelve words take turns, so that a busy machine is busy for all of them:

* ``chunked``: turngap's synthesizer; the time to its first piece, whose first sample is audible, and to its last;
* ``whole``: ``PiperVoice.synthesize`` as it comes, on all cores; the time to its audio, leading silence included;
* ``whole, same threads``: the same with as many threads as the chunked one has.
"""

import argparse
import asyncio
import json
import statistics
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from turngap.budget.clock import Ns, milliseconds, monotonic
from turngap.voice.audio.level import first_audible
from turngap.voice.tts.chunks import plan
from turngap.voice.tts.piper import PiperSynthesizer
from turngap.voice.tts.split import DECODER, ENCODER, FLOW
from turngap.voice.tts.vits import Style, Voice, read_config

SENTENCE = "Sure, I can get you a small latte with oat milk today."
SENTENCES = (SENTENCE, "Yes.", "The next train to the airport leaves at five past nine from platform three, I think.")
"""Spoken without noise, in parts and at once, to see whether the seams make a difference."""


async def chunked(voice: PiperSynthesizer) -> dict[str, float]:
    """One sentence: first and last piece, seconds of audio, and by how much the tightest piece was in time."""
    start = monotonic()
    first: Ns | None = None
    slack: Ns | None = None
    samples = 0
    async with aclosing(voice.speak(SENTENCE)) as pieces:
        async for piece in pieces:
            now = monotonic()
            if first is None:
                first = now
            else:
                spare = first + samples * 1_000_000_000 // voice.rate_hz - now
                slack = spare if slack is None else min(slack, spare)
            samples += len(piece.samples)
    if first is None:
        raise SystemExit("the voice said nothing")
    spent = monotonic() - start
    return {
        "first_ms": milliseconds(first - start),
        "all_ms": milliseconds(spent),
        "slack_ms": milliseconds(slack or 0),
        "rtf": spent / 1e9 / (samples / voice.rate_hz),
    }


def whole(speak: Callable[[], Any], rate_hz: int) -> dict[str, float]:
    """One sentence by Piper itself: when its audio is there, and the silence that it begins with."""
    start = monotonic()
    audio = np.concatenate([chunk.audio_float_array for chunk in speak()])
    spent = monotonic() - start
    return {
        "first_ms": milliseconds(spent),
        "silence_ms": 1000 * (first_audible(audio, rate_hz) or 0) / rate_hz,
        "rtf": spent / 1e9 / (len(audio) / rate_hz),
    }


def seam(folder: Path) -> float:
    """The largest difference between the joined chunks and all of it made at once, of full scale 1."""
    voice = Voice(folder, read_config(folder), style=Style(), threads=1)
    worst = 0.0
    for sentence in SENTENCES:
        in_parts, at_once = (voice.latent(voice.phonemes(sentence)[0], noise=0.0) for _ in range(2))
        joined = [
            voice.decode(in_parts.window(chunk.window))[chunk.kept(voice.hop)]
            for chunk in plan(in_parts.frames, context=voice.context)
        ]
        whole = voice.decode(at_once.window(slice(0, at_once.frames)))
        worst = max(worst, float(np.max(np.abs(np.concatenate(joined) - whole))))
    return worst


async def measure(folder: Path, *, runs: int, threads: int) -> dict[str, Any]:
    """All of it: warm everything once, then let the three take turns."""
    import onnxruntime
    from piper import PiperVoice

    model = model_in(folder)
    stock = PiperVoice.load(model)
    bound = PiperVoice.load(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    bound.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    voice = PiperSynthesizer(folder, clock=monotonic, style=Style(), threads=threads)
    await voice.warm()
    taken: dict[str, list[dict[str, float]]] = {"chunked": [], "whole": [], "whole_same_threads": []}
    try:
        for _ in range(runs + 1):
            taken["chunked"].append(await chunked(voice))
            taken["whole"].append(whole(lambda: stock.synthesize(SENTENCE), voice.rate_hz))
            taken["whole_same_threads"].append(whole(lambda: bound.synthesize(SENTENCE), voice.rate_hz))
        described = voice.describe()
    finally:
        await voice.aclose()
    figures = {name: summary(rounds[1:]) for name, rounds in taken.items()}  # the first warms
    ours = [turn["first_ms"] for turn in taken["chunked"][1:]]
    return {
        "sentence": SENTENCE,
        "n": runs,
        "voice": described,
        "medians": figures,
        "times_sooner": ratio([turn["first_ms"] for turn in taken["whole"][1:]], ours),
        "times_sooner_same_threads": ratio([turn["first_ms"] for turn in taken["whole_same_threads"][1:]], ours),
        "largest_difference": seam(folder),
    }


def model_in(folder: Path) -> Path:
    """The voice as Piper knows it, beside the two halves that we made of it."""
    return next(path for path in folder.glob("*.onnx") if path.name not in (ENCODER, FLOW, DECODER))


def summary(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {key: statistics.median(turn[key] for turn in rounds) for key in rounds[0]}


def ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """The median of the ratios of neighbours in time: what slows the machine slows both."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


def show(figures: dict[str, Any]) -> None:
    table = Table(title=f"{len(SENTENCE.split())} words, n={figures['n']}, medians")
    for column in ("", "first audio", "all audio", "leading silence", "RTF"):
        table.add_column(column, justify="left" if not column else "right")
    for name, row in figures["medians"].items():
        table.add_row(
            name.replace("_", " "),
            f"{row['first_ms']:.0f} ms",
            f"{row.get('all_ms', row['first_ms']):.0f} ms",
            f"{row.get('silence_ms', 0):.0f} ms",
            f"{row['rtf']:.3f}",
        )
    console = Console()
    console.print(table)
    console.print(
        f"first audio {figures['times_sooner']:.1f} times as soon as Piper as it comes, "
        f"{figures['times_sooner_same_threads']:.1f} times with the same threads; "
        f"largest difference from the unsplit decode {figures['largest_difference']:.1e}; "
        f"tightest later piece ready {figures['medians']['chunked']['slack_ms']:.0f} ms before its turn"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="the voice (default: the pulled piper-joe)")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    folder = options.folder
    if folder is None:
        from turngap.voice.models.store import find

        folder = find("piper-joe")
    figures = asyncio.run(measure(folder, runs=max(1, options.runs), threads=options.threads))
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
