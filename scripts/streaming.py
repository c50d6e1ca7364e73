"""A labelled clip played to a recogniser as if live, on a virtual clock. For the evaluation scripts.

Audio arrives by its own time, and every pass takes as long as it was measured to take, so that passes overlap with
arriving audio as they would in a conversation. Where the voice is, the manifest's labels say: a pause is noticed 80 ms
after the voice is gone; it gets a final pass, and the turn is reopened if the voice comes back.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import monotonic, process_cpu
from turngap.voice.asr.incremental import Pacing, PassRequest, Transcription, samples
from turngap.voice.asr.protocol import ASR_RATE_HZ, Listener, Pass, Recognizer
from turngap.voice.client import conditions
from turngap.voice.client.recording import read, resampled

FRAME = 512
LEAD = samples(0.3)
"""Audio before the onset that a turn begins with."""
FADING = samples(0.05)
NOTICED = samples(0.08)
ENDPOINT = samples(0.2)
GAP = samples(0.25)
"""Between clips that are joined: no pause."""
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

    def ended(self, turn: Transcription, after: int) -> "Outcome":
        """The turn's words are final, so many samples after the voice."""
        self.text = turn.hypothesis.text
        self.final_ms = 1000 * (after - ENDPOINT) / ASR_RATE_HZ
        return self


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
    mono = mono_16k(folder / row["file"])
    speech: list[list[float]] = []
    for start, end in row["speech_segments_s"]:
        if speech and start - speech[-1][1] < MERGE_S:
            speech[-1][1] = end
        else:
            speech.append([start, end])
    speech[-1][1] = row["speech_end_s"] or speech[-1][1]
    stretches = [(samples(start), samples(end)) for start, end in speech]
    return Clip(Path(row["file"]).stem, mono, stretches, row["text"], row["slots"] or {})


def joined(clips: Sequence[Clip], seconds: float) -> list[Clip]:
    """Turns of about so many seconds: clips one after the other with ``GAP`` between, cut where a stretch ends."""
    turns: list[Clip] = []
    parts: list[Clip] = []
    for clip in clips:
        parts.append(clip)
        spoken = sum(part.speech[-1][1] - part.speech[0][0] + GAP for part in parts)
        if spoken >= samples(seconds):
            turns.append(_one_after_the_other(parts, seconds))
            parts = []
    return turns


def _one_after_the_other(clips: Sequence[Clip], seconds: float) -> Clip:
    pieces, speech, at = [np.zeros(LEAD, np.float32)], [], LEAD
    for clip in clips:
        first, last = clip.speech[0][0], clip.speech[-1][1]
        pieces += [clip.audio[first:last], np.zeros(GAP, np.float32)]
        speech += [(at + start - first, at + end - first) for start, end in clip.speech]
        at += last - first + GAP
    wanted = next((index for index, (_, end) in enumerate(speech) if end >= samples(seconds)), len(speech) - 1)
    speech = speech[: wanted + 1]
    return Clip(clips[0].name, np.concatenate(pieces)[: speech[-1][1]], speech, None, {})


def mono_16k(path: Path) -> NDArray[np.float32]:
    """A recording as the recogniser takes it."""
    recording = read(path)
    return resampled(recording.mono, recording.rate_hz, ASR_RATE_HZ)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Noises and rooms to play clips in; the n-th clip gets the n-th of each, and begins anew when they are used up."""

    noises: Sequence[NDArray[np.float32]] = ()
    rooms: Sequence[NDArray[np.float32]] = ()

    @classmethod
    def read(cls, noises: Sequence[Path], rooms: Sequence[Path]) -> "Surroundings":
        return cls([mono_16k(path) for path in noises], [mono_16k(path) for path in rooms])

    def around(self, clip: Clip, number: int, condition: conditions.Condition) -> Clip:
        """The clip under this condition. Raises ConfigurationError if it needs what is not there."""
        lead = samples(condition.lead_s)
        audio = conditions.apply(
            clip.audio,
            ASR_RATE_HZ,
            condition,
            speech=[(start / ASR_RATE_HZ, end / ASR_RATE_HZ) for start, end in clip.speech],
            noise=self.noises[number % len(self.noises)] if self.noises else None,
            room=self.rooms[number % len(self.rooms)] if self.rooms else None,
            seed=number,
        )
        return replace(clip, audio=audio, speech=[(start + lead, end + lead) for start, end in clip.speech])


def surroundings_of(manifest: Path) -> tuple[list[Path], list[Path]]:
    """Noises of 3 s and more, and rooms, among a manifest's ``noise/`` sets."""
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    rows = [row for row in rows if row["set"].startswith("noise/")]
    rooms = [row for row in rows if Path(row["file"]).name.startswith("rir")]
    noises = [row for row in rows if row not in rooms and row["seconds"] >= 3.0]
    return [manifest.parent / row["file"] for row in noises], [manifest.parent / row["file"] for row in rooms]


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
            if turn.hypothesis.final and done.request.end >= speech_end:
                return out.ended(turn, done.ends - speech_end)
            running = await _start(turn, audio, listener, out, done.ends, feeding)
        voiced_now = any(begin <= now - FRAME // 2 < end for begin, end in clip.speech)
        recent = audio[max(0, now - FRAME) : now]
        level = 10 * np.log10(float(np.mean(recent**2)) + 1e-10) if len(recent) else -100.0
        turn.heard(now, voiced=voiced_now, level_db=level)
        if any(end + FADING <= now < end + FADING + FRAME for _, end in clip.speech):
            turn.fading()
        gone = next((end for _, end in clip.speech if end + NOTICED <= now < end + NOTICED + FRAME), None)
        if gone is not None and not any(begin < now <= end for begin, end in clip.speech):
            paused = True
            turn.paused(gone + NOTICED, speech_end=gone)
            if gone == speech_end:
                settled = turn.hypothesis
                out.stable_share = len(settled.stable) / len(settled.words) if settled.words else None
                if settled.final:
                    return out.ended(turn, NOTICED)
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
