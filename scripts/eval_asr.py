#!/usr/bin/env python3
"""Streaming transcripts against plain faster-whisper: word errors, and when the final transcript is there.

Each clip is fed as if live, on a virtual clock (scripts/streaming.py). The baseline runs in the same process on the
same samples: beam 5, 30 s window. With ``--condition`` (for example ``snr=10``, ``telephone`` or ``far-field``; see
turngap.voice.client.conditions) both hear the clips as they would sound there, and one table compares the conditions.

On a machine that is busy with other work, ``--cost cpu`` advances the virtual clock by CPU time over threads instead of
by elapsed time: what the pass would take if the cores were free and shared the work evenly, so a lower bound.
"""

import argparse
import asyncio
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from streaming import LEAD, NOTICED, Clip, Feeding, Outcome, Surroundings, joined, load, stream, surroundings_of

from turngap.budget.clock import monotonic
from turngap.voice.asr.incremental import Pacing, samples
from turngap.voice.asr.protocol import ASR_RATE_HZ, Recognizer
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.asr.wer import WordErrors, paired_difference, pooled, word_errors
from turngap.voice.client import conditions


def plain_model(folder: Path, threads: int) -> Any:
    """faster-whisper as it comes."""
    from faster_whisper import WhisperModel

    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)


def plain(clips: Sequence[Clip], model: Any) -> list[str]:
    """What faster-whisper says by itself: beam 5, 30 s, on the same audio."""
    texts = []
    for clip in clips:
        start, end = max(0, clip.speech[0][0] - LEAD), clip.speech[-1][1] + NOTICED
        pieces, _ = model.transcribe(clip.audio[start:end], language="en", beam_size=5)
        texts.append(" ".join(piece.text.strip() for piece in pieces))
    return texts


def spread(values: Sequence[float]) -> str:
    if not values:
        return "none"
    p50, p95 = np.percentile(values, [50, 95])
    return f"p50 {p50:.0f}, p95 {p95:.0f}, max {max(values):.0f} ms, n {len(values)}"


def show(name: str, clips: Sequence[Clip], outcomes: Sequence[Outcome], baseline: Sequence[str] | None) -> None:
    print(f"\n{name}")
    scored = [index for index, clip in enumerate(clips) if clip.text]
    ours = [word_errors(clips[index].text or "", outcomes[index].text) for index in scored]
    if scored:
        print(f"  word errors, streamed   {_rate(ours)}")
    if scored and baseline is not None:
        theirs = [word_errors(clips[index].text or "", baseline[index]) for index in scored]
        gap = paired_difference(ours, theirs)
        print(f"  word errors, plain      {_rate(theirs)}")
        print(f"  difference              {gap.points:+.2f} points, 95 % from {gap.low:+.2f} to {gap.high:+.2f}")
    wanted = [
        (word, index) for index, clip in enumerate(clips) for said in clip.slots.values() for word in said.split()
    ]
    if wanted:
        found = sum(word.casefold() in outcomes[index].text.casefold() for word, index in wanted)
        print(
            f"  slot words heard        {found} of {len(wanted)}, empty transcripts {sum(not o.text for o in outcomes)}"
        )
    print(f"  final, from endpoint    {spread([outcome.final_ms for outcome in outcomes])}")
    kinds = sorted({kind for outcome in outcomes for kind in outcome.spans_ms})
    for kind in kinds:
        print(f"  {kind:<23} {spread([ms for outcome in outcomes for ms in outcome.spans_ms.get(kind, [])])}")
    shares = [outcome.stable_share for outcome in outcomes if outcome.stable_share is not None]
    speech_ms = sum(1000 * (end - start) / ASR_RATE_HZ for clip in clips for start, end in clip.speech)
    print(f"  stable at the pause     {statistics.mean(shares):.0%} of the words of then" if shares else "")
    print(
        f"  interim passes          {sum(o.interims for o in outcomes)} "
        f"({sum(o.superseded for o in outcomes)} superseded), "
        f"CPU {sum(o.interim_cpu_ms for o in outcomes) / speech_ms:.2f} s a second of speech; "
        f"with finals {sum(o.cpu_ms for o in outcomes) / speech_ms:.2f}"
    )


def _rate(errors: Sequence[WordErrors]) -> str:
    whole = pooled(errors)
    rate = 0.0 if whole.rate is None else 100 * whole.rate
    return (
        f"{rate:.2f} % of {whole.words} words "
        f"({whole.substitutions} wrong, {whole.insertions} too many, {whole.deletions} missing)"
    )


def table(rows: Sequence[tuple[str, str, Sequence[WordErrors], Sequence[WordErrors] | None]]) -> Table:
    """One line a condition: word error rates with words added and lost, and the difference."""
    shown = Table("asr", "condition", "ours", "+ / -", "plain", "+ / -", "difference (95 %)", "words")
    for choice, condition, ours, theirs in rows:
        own = pooled(ours)
        line = [choice, condition, _percent(own), f"{own.insertions} / {own.deletions}", "", "", "", str(own.words)]
        if theirs is not None:
            other, gap = pooled(theirs), paired_difference(ours, theirs)
            line[4:7] = [
                _percent(other),
                f"{other.insertions} / {other.deletions}",
                f"{gap.points:+.1f} ({gap.low:+.1f} to {gap.high:+.1f})",
            ]
        shown.add_row(*line)
    return shown


def _percent(errors: WordErrors) -> str:
    return "?" if errors.rate is None else f"{100 * errors.rate:.1f} %"


def _scores(clips: Sequence[Clip], texts: Sequence[str]) -> list[WordErrors]:
    return [word_errors(clip.text, text) for clip, text in zip(clips, texts, strict=True) if clip.text]


async def evaluate(clips: Sequence[Clip], recognizer: Recognizer, options: argparse.Namespace) -> list[Outcome]:
    """Every clip, streamed."""
    threads = int(recognizer.describe().get("threads", "1"))
    feeding = Feeding(
        pacing=Pacing(
            voiced=samples(options.interval), close_after=samples(options.close), cut_after=samples(options.cut)
        ),
        patient=options.patient,
        cpu_threads=threads if options.cost == "cpu" else None,
    )
    outcomes = [await stream(clip, recognizer, feeding) for clip in clips]
    if options.texts:
        for clip, outcome in zip(clips, outcomes, strict=True):
            print(f"    {clip.name}: {outcome.text}\n      {clip.text or ' / '.join(clip.slots.values())}")
    return outcomes


async def run(options: argparse.Namespace) -> None:
    clean = load(options.manifest, options.set, options.limit)
    if not clean:
        raise SystemExit(f"no labelled clips of {options.set} in {options.manifest}")
    print(f"{len(clean)} clips of {options.set}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.turn is not None:
        clean = joined(clean, options.turn)[: options.turns]
        print(f"joined to {len(clean)} turns of about {options.turn:g} s")
    noises, rooms = surroundings_of(options.manifest)
    around = Surroundings.read(options.noise or noises, options.room or rooms)
    chosen = [conditions.parse(text) for text in options.condition or ["clean"]]
    model = None if options.no_baseline else plain_model(options.model, options.threads)
    recognizers = {
        choice: make_recognizer(choice, find_model=lambda _: options.model, clock=monotonic)
        for choice in options.asr or ["whisper"]
    }
    rows = []
    for condition in chosen:
        clips = [around.around(clip, number, condition) for number, clip in enumerate(clean)]
        baseline = None if model is None else plain(clips, model)
        for choice, recognizer in recognizers.items():
            await recognizer.warm()
            outcomes = await evaluate(clips, recognizer, options)
            show(f"{choice}, {condition.name}", clips, outcomes, baseline)
            theirs = None if baseline is None else _scores(clips, baseline)
            rows.append((choice, condition.name, _scores(clips, [outcome.text for outcome in outcomes]), theirs))
    for recognizer in recognizers.values():
        await recognizer.aclose()
    if len(rows) > 1 and rows[0][2]:
        Console(width=120).print(table(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True, help="a manifest.jsonl beside its recordings")
    parser.add_argument("--set", default="speech/librispeech-test-other")
    parser.add_argument("--model", type=Path, help="folder of the Whisper model; default: the pulled whisper-base")
    parser.add_argument("--asr", action="append", metavar="SPEC", help="may be given more than once")
    parser.add_argument("--threads", type=int, default=2, help="of the baseline")
    parser.add_argument(
        "--condition", action="append", metavar="NAME", help="what the clips go through; may be given more than once"
    )
    parser.add_argument("--noise", type=Path, nargs="+", help="recordings of noise; default: those of the manifest")
    parser.add_argument("--room", type=Path, nargs="+", help="impulse responses; default: those of the manifest")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--turn", type=float, metavar="SECONDS", help="join clips to turns as long as this")
    parser.add_argument("--turns", type=int, help="at most so many of them")
    parser.add_argument("--interval", type=float, default=0.4, help="voiced seconds between passes")
    parser.add_argument("--close", type=float, default=9.0, help="seconds after which a pause ends a segment")
    parser.add_argument("--cut", type=float, default=12.5, help="seconds after which a segment is cut")
    parser.add_argument("--patient", action="store_true", help="let a running pass end before the final one starts")
    parser.add_argument(
        "--cost", choices=["wall", "cpu"], default="wall", help="what a pass costs on the virtual clock"
    )
    parser.add_argument("--no-baseline", action="store_true")
    parser.add_argument("--texts", action="store_true", help="print what was heard")
    options = parser.parse_args()
    if options.model is None:
        from turngap.voice.models import store

        options.model = store.find("whisper-base")
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
