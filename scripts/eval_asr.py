#!/usr/bin/env python3
"""Streaming transcripts against plain faster-whisper: word errors, and when the final transcript is there.

Each clip is fed as if live, on a virtual clock: audio arrives by its own time, and every pass takes as long as it was
measured to take, so that passes overlap with arriving audio as they would in a conversation. A pause of the manifest's
speech segments is noticed 80 ms after the voice is gone; it gets a final pass, and the turn is reopened if the voice
comes back. The baseline runs in the same process on the same samples: beam 5, 30 s window.

On a machine that is busy with other work, ``--cost cpu`` advances the virtual clock by CPU time over threads instead of
by elapsed time: what the pass would take if the cores were free and shared the work evenly, so a lower bound.
"""

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from turngap.budget.clock import monotonic, process_cpu
from turngap.voice.asr.incremental import Pacing, PassRequest, Transcription, samples
from turngap.voice.asr.protocol import ASR_RATE_HZ, Listener, Pass, Recognizer
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.asr.wer import WordErrors, paired_difference, pooled, word_errors

FRAME = 512
LEAD = samples(0.3)
"""Audio before the onset that a turn begins with."""
NOTICED = samples(0.08)
ENDPOINT = samples(0.2)
MERGE_S = 0.2
"""Shorter gaps between the manifest's segments are no pauses."""


@dataclass(frozen=True, slots=True)
class Clip:
    name: str
    audio: NDArray[np.float32]
    speech: list[tuple[int, int]]
    """Stretches of voice; the last ends with the speech."""
    text: str | None
    slots: dict[str, str]


@dataclass(slots=True)
class Outcome:
    """One clip, streamed."""

    text: str = ""
    final_ms: float = 0.0
    """When the final transcript was there, counted from the endpoint; negative is before it."""
    stable_share: float | None = None
    cpu_ms: float = 0.0
    interim_cpu_ms: float = 0.0
    interims: int = 0
    superseded: int = 0
    spans_ms: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Running:
    request: PassRequest
    result: Pass
    ends: int
    """In samples of the virtual clock."""


def load(manifest: Path, wanted: str, limit: int | None) -> list[Clip]:
    """The clips of one set whose speech is labelled."""
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    rows = [row for row in rows if row["set"] == wanted and row["speech_segments_s"]]
    return [_clip(manifest.parent, row) for row in rows[:limit]]


def _clip(folder: Path, row: dict[str, Any]) -> Clip:
    audio, rate = soundfile.read(folder / row["file"], dtype="float32", always_2d=True)
    mono = audio.mean(axis=1)
    if rate != ASR_RATE_HZ:
        mono = soxr.resample(mono, rate, ASR_RATE_HZ)
    speech: list[list[float]] = []
    for start, end in row["speech_segments_s"]:
        if speech and start - speech[-1][1] < MERGE_S:
            speech[-1][1] = end
        else:
            speech.append([start, end])
    speech[-1][1] = row["speech_end_s"] or speech[-1][1]
    stretches = [(samples(start), samples(end)) for start, end in speech]
    return Clip(Path(row["file"]).stem, mono.astype(np.float32), stretches, row["text"], row["slots"] or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeding:
    """How a clip is played to the recogniser."""

    pacing: Pacing
    patient: bool = False
    cpu_threads: int | None = None
    """None: a pass costs the time that it took; else its CPU time over so many threads."""


async def stream(clip: Clip, recognizer: Recognizer, feeding: Feeding) -> Outcome:
    """Play ``clip`` to the recogniser on a virtual clock that counts samples."""
    out = Outcome()
    start, speech_end = max(0, clip.speech[0][0] - LEAD), clip.speech[-1][1]
    audio = np.concatenate([clip.audio, np.zeros(NOTICED + FRAME, np.float32)])
    turn = Transcription(start, pacing=feeding.pacing)
    listener = recognizer.listen()
    running: Running | None = None
    now = start
    paused = False
    while True:
        now += FRAME
        while running is not None and running.ends <= now:
            done, running = running, None
            turn.take(done.request, done.result)
            if done.request.final and done.request.end == speech_end + NOTICED:
                out.text = turn.hypothesis.text
                out.final_ms = 1000 * (done.ends - speech_end - ENDPOINT) / ASR_RATE_HZ
                return out
            running = await _start(turn, audio, listener, out, done.ends, feeding)
        voiced_now = any(begin <= now - FRAME // 2 < end for begin, end in clip.speech)
        recent = audio[max(0, now - FRAME) : now]
        level = 10 * np.log10(float(np.mean(recent**2)) + 1e-10) if len(recent) else -100.0
        turn.heard(now, voiced=voiced_now, level_db=level)
        gone = next((end for _, end in clip.speech if end + NOTICED <= now < end + NOTICED + FRAME), None)
        if gone is not None and not any(begin < now <= end for begin, end in clip.speech):
            paused = True
            turn.paused(gone + NOTICED)
            if gone == speech_end:
                settled = turn.hypothesis
                out.stable_share = len(settled.stable) / len(settled.words) if settled.words else None
        elif paused and voiced_now:
            paused = False
            turn.resumed()
        if feeding.patient and running is not None and not running.request.final:
            continue
        begun = gone + NOTICED if gone is not None and paused else now
        fresh = await _start(turn, audio, listener, out, begun, feeding)
        if fresh is not None:
            if running is not None:
                out.superseded += 1
                left = _lets_go(running, begun) - begun
                fresh = Running(fresh.request, fresh.result, fresh.ends + max(0, left))
            running = fresh


def _lets_go(running: Running, at: int) -> int:
    """When a pass that is cancelled ``at`` frees the queue: after its encoder or, once it decodes, at its end."""
    decode = sum(span.end - span.start for span in running.result.spans if span.what == "decode")
    encoded = running.ends - round(decode * ASR_RATE_HZ / 1e9)
    return encoded if at < encoded else running.ends


async def _start(
    turn: Transcription, audio: NDArray[np.float32], listener: Listener, out: Outcome, at: int, feeding: Feeding
) -> Running | None:
    request = turn.wants()
    if request is None:
        return None
    began, cpu = monotonic(), process_cpu()
    result = await listener.decode(
        audio[request.start : request.end], start=request.start, draft=request.draft, prompt=request.prompt
    )
    wall, cpu = monotonic() - began, process_cpu() - cpu
    out.cpu_ms += cpu / 1e6
    if not request.final:
        out.interims += 1
        out.interim_cpu_ms += cpu / 1e6
    if feeding.cpu_threads is None:
        cost = wall
        spent = result.spans
    else:
        cost = cpu // feeding.cpu_threads
        scale = cost / wall
        spent = tuple(replace(span, end=span.start + round(scale * (span.end - span.start))) for span in result.spans)
        result = replace(result, spans=spent)
    for span in spent:
        out.spans_ms.setdefault(("final " if request.final else "interim ") + span.what, []).append(
            (span.end - span.start) / 1e6
        )
    ends = at + round(cost * ASR_RATE_HZ / 1e9)
    return Running(request, result, ends)


def plain(clips: Sequence[Clip], folder: Path, threads: int) -> list[str]:
    """What faster-whisper says as it comes: beam 5, 30 s, on the same audio."""
    from faster_whisper import WhisperModel

    model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
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


async def run(options: argparse.Namespace) -> None:
    clips = load(options.manifest, options.set, options.limit)
    if not clips:
        raise SystemExit(f"no labelled clips of {options.set} in {options.manifest}")
    print(f"{len(clips)} clips of {options.set}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    baseline = None if options.no_baseline else plain(clips, options.model, options.threads)
    pacing = Pacing(
        voiced=samples(options.interval), close_after=samples(options.close), cut_after=samples(options.cut)
    )
    for choice in options.asr or ["whisper"]:
        recognizer = make_recognizer(choice, find_model=lambda _: options.model, clock=monotonic)
        await recognizer.warm()
        threads = int(recognizer.describe().get("threads", "1"))
        feeding = Feeding(
            pacing=pacing,
            patient=options.patient,
            cpu_threads=threads if options.cost == "cpu" else None,
        )
        outcomes = [await stream(clip, recognizer, feeding) for clip in clips]
        show(choice, clips, outcomes, baseline)
        if options.texts:
            for clip, outcome in zip(clips, outcomes, strict=True):
                print(f"    {clip.name}: {outcome.text}\n      {clip.text or ' / '.join(clip.slots.values())}")
        await recognizer.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True, help="a manifest.jsonl beside its recordings")
    parser.add_argument("--set", default="speech/librispeech-test-other")
    parser.add_argument("--model", type=Path, help="folder of the Whisper model; default: the pulled whisper-base")
    parser.add_argument("--asr", action="append", metavar="SPEC", help="may be given more than once")
    parser.add_argument("--threads", type=int, default=2, help="of the baseline")
    parser.add_argument("--limit", type=int)
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
