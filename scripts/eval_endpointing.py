#!/usr/bin/env python3
"""False cut-offs against endpointing time, for each policy, over recordings whose end is known.

Each recording goes through the real models once; then every policy is replayed over the same trace, with evidence as
late as it is live (see :mod:`turngap.voice.endpointing.replay`), many times faster than real time. Every pause inside a
turn is a chance to be wrong. What the models said is kept in --cache, so that only new questions cost time.

A meeting has several speakers: there, a pause after which the same speaker goes on (by the RTTM beside the recording)
is inside a turn, and one after which another does is an end; each stretch up to an end counts as a turn.
"""

import argparse
import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import monotonic
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.audio.level import LEVEL_BLOCK_MS, block_levels
from turngap.voice.client.conditions import apply, parse
from turngap.voice.client.recording import read, resampled
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, VAD_RATE_HZ, Endpointing, Frame, Onset
from turngap.voice.endpointing.replay import Decided, Delays, Trace, replay
from turngap.voice.endpointing.silero import Silero
from turngap.voice.endpointing.smart_turn import SAMPLES as JUDGED
from turngap.voice.endpointing.smart_turn import SmartTurn
from turngap.voice.endpointing.voicing import Voicing
from turngap.voice.endpointing.weighing import Weighing
from turngap.voice.models import store

BLOCK: Final = VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000
AFTER_S: Final = 2.5
"""Room after the speech, for the slowest policy; made of noise at the recording's own floor where it has too little."""
MONOLOGUE_S: Final = 12.0
"""Longer recordings of the Microsoft set are read texts and dialogues, not queries."""

CERTAINTIES: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995)
HANGOVERS: Final = (100, 200, 300, 400, 500, 650, 800, 1000, 1300)

SETS: Final = {
    "orders and queries": (
        "picovoice-barista",
        "google-docs-samples",
        "microsoft-speech-sdk",
        "rhasspy",
        "unmute-loadtest",
        "pocketsphinx",
    ),
    "reading and dictation": ("librispeech-test-other", "vosk", "jfk", "watson", "microsoft-speech-sdk"),
    "meetings": ("ami",),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one recording, at 16 kHz, with room after it."""

    group: str
    name: str
    samples: NDArray[np.float32]
    speech_end: int
    key: str


def turns(manifest: Path, condition: str, noise: Path | None, room: Path | None) -> Iterator[Turn]:
    """Every turn of the sets, as it sounds under ``condition``."""
    for line in manifest.read_text("utf-8").splitlines():
        row = json.loads(line)
        name, segments = row["set"].rpartition("/")[2], row["speech_segments_s"]
        for group in (group for group, names in SETS.items() if name in names and segments):
            long = row["seconds"] > MONOLOGUE_S
            if name == "microsoft-speech-sdk" and long == (group == "orders and queries"):
                continue
            recording = read(manifest.parent / row["file"])
            samples = resampled(recording.mono, recording.rate_hz, VAD_RATE_HZ)
            samples = apply(
                samples, VAD_RATE_HZ, condition, speech=segments, noise=_mono(noise), room=_mono(room), seed=len(samples)
            )
            ends = _ends(row, manifest.parent)
            for number, (start_s, end_s) in enumerate(ends):
                part = samples[round(start_s * VAD_RATE_HZ) :]
                speech_end = round((end_s - start_s) * VAD_RATE_HZ)
                part = _with_room(part[: speech_end + round(AFTER_S * VAD_RATE_HZ)] if len(ends) > 1 else part, speech_end)
                yield Turn(group, f"{row['file']}#{number}", part, speech_end, _key(part))


def _mono(path: Path | None) -> NDArray[np.float32] | None:
    if path is None:
        return None
    recording = read(path)
    return resampled(recording.mono, recording.rate_hz, VAD_RATE_HZ)


def _key(samples: NDArray[np.float32]) -> str:
    return hashlib.sha256(samples.tobytes()).hexdigest()[:24]


def _ends(row: dict[str, Any], folder: Path) -> list[tuple[float, float]]:
    """Start and end of each turn, in seconds."""
    segments = row["speech_segments_s"]
    speakers = _speakers((folder / row["file"]).with_suffix(".rttm"))
    if not speakers:
        return [(0.0, row["speech_end_s"] or segments[-1][1])]
    found, start = [], 0.0
    for (_, end), (following, _) in zip(segments, segments[1:], strict=False):
        before, after = _speaker(speakers, end - 0.1), _speaker(speakers, following + 0.1)
        if before is None or after is None:
            continue
        if before != after and following - end >= 0.3:
            found.append((max(0.0, start), end))
            start = following - 0.3
    return found


def _speakers(rttm: Path) -> list[tuple[float, float, str]]:
    candidates = [rttm, *rttm.parent.glob("*.rttm")]
    lines = [line.split() for path in candidates if path.is_file() for line in path.read_text("utf-8").splitlines()]
    return [
        (float(line[3]), float(line[3]) + float(line[4]), line[7])
        for line in lines
        if line and line[0] == "SPEAKER" and line[1] == rttm.stem
    ]


def _speaker(speakers: Iterable[tuple[float, float, str]], at: float) -> str | None:
    """Who speaks then, if it is one person."""
    names = {name for start, end, name in speakers if start - 0.2 <= at <= end + 0.2}
    return names.pop() if len(names) == 1 else None


def _with_room(samples: NDArray[np.float32], speech_end: int) -> NDArray[np.float32]:
    missing = max(0, speech_end + round(AFTER_S * VAD_RATE_HZ) - len(samples))
    floor_db = min(float(np.percentile(block_levels(samples, BLOCK), 10)), -45.0)
    hiss = np.random.default_rng(0).normal(0, 10 ** (floor_db / 20), missing)
    return np.concatenate([samples, hiss.astype(np.float32)])


class Models:
    """The real models, asked once for each thing."""

    def __init__(self, cache: Path) -> None:
        self._silero = Silero(store.find("silero-vad"))
        self._smart_turn = SmartTurn(store.find("smart-turn-v3.2"), clock=monotonic)
        self._recognizer = make_recognizer("whisper", find_model=store.find, clock=monotonic)
        self._cache = cache
        self.judged_ms: list[float] = []
        self.vad_ms_per_s: list[float] = []

    def trace(self, turn: Turn) -> tuple[Trace, Callable[[], None]]:
        """What is heard of ``turn``, and what writes down what was asked of it."""
        path = self._cache / f"{turn.key}.json"
        known = json.loads(path.read_text("utf-8")) if path.is_file() else {"vad": None, "opinion": {}, "words": {}}
        size = sum(len(part) for part in known.values() if part)
        frames = self._frames(turn.samples, known)
        start = _onset(frames)

        def opinion(end: int) -> float:
            if str(end) not in known["opinion"]:
                began = time.perf_counter()
                known["opinion"][str(end)] = self._smart_turn.judge_now(turn.samples[max(start, end - JUDGED) : end])
                self.judged_ms.append(1000 * (time.perf_counter() - began))
            return float(known["opinion"][str(end)])

        def words(end: int) -> str:
            if str(end) not in known["words"]:
                heard = asyncio.run(self._recognizer.listen().decode(turn.samples[start:end], start=0))
                known["words"][str(end)] = " ".join(heard.words)
            return str(known["words"][str(end)])

        def keep() -> None:
            if sum(len(part) for part in known.values() if part) != size:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(known), "utf-8")

        return Trace(frames=frames, speech_end=turn.speech_end, opinion=opinion, words=words), keep

    def close(self) -> None:
        self._silero.close()
        self._smart_turn.close()
        asyncio.run(self._recognizer.aclose())

    def _frames(self, samples: NDArray[np.float32], known: dict[str, Any]) -> list[Frame]:
        count = len(samples) // FRAME_SAMPLES
        if known["vad"] is None:
            detector, began = self._silero.listen(), time.perf_counter()
            cut = samples[: count * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES)
            known["vad"] = [round(detector.probability_now(frame), 4) for frame in cut]
            self.vad_ms_per_s.append(1000 * (time.perf_counter() - began) * VAD_RATE_HZ / len(samples))
        levels = block_levels(samples, BLOCK)
        ends = [(index + 1) * FRAME_SAMPLES for index in range(count)]
        return [
            Frame(
                end=end,
                probability=probability,
                levels_db=tuple(levels[(end - FRAME_SAMPLES) // BLOCK : end // BLOCK]),
            )
            for end, probability in zip(ends, known["vad"], strict=True)
        ]


def _onset(frames: Sequence[Frame]) -> int:
    voicing = Voicing()
    for frame in frames:
        if isinstance(found := voicing.feed(frame), Onset):
            return max(0, found.start - 3 * VAD_RATE_HZ // 10)
    return 0


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a curve."""

    policy: str
    value: float
    make: Callable[[], Endpointing]


def settings() -> list[Setting]:
    found = [Setting("fixed", ms, lambda ms=ms: Hangover(hangover_ms=ms)) for ms in HANGOVERS]  # type: ignore[misc]
    for policy in ("vad", "smart", "full"):
        asks, lexicon = policy != "vad", ENGLISH if policy == "full" else None
        for certainty in CERTAINTIES:

            def make(certainty: float = certainty, asks: bool = asks, lexicon: Any = lexicon) -> Endpointing:
                return Weighing(asks=asks, lexicon=lexicon, certainty=certainty)

            found.append(Setting(policy, certainty, make))
    return found


@dataclass(frozen=True, slots=True)
class Point:
    """What a setting does on a group of turns."""

    policy: str
    value: float
    median_ms: float
    p90_ms: float
    wrong: float
    """Share of turns with an endpoint inside of them,"""
    heard: float
    """and with one whose reply was heard."""
    turns: int


def score(setting: Setting, traces: Sequence[Trace], delays: Delays) -> Point:
    found: list[Decided] = [replay(trace, setting.make(), delays) for trace in traces]
    late = [
        1000 * ((len(trace.frames) * FRAME_SAMPLES if each.endpoint is None else each.endpoint) - trace.speech_end)
        / VAD_RATE_HZ
        for trace, each in zip(traces, found, strict=True)
    ]
    return Point(
        policy=setting.policy,
        value=setting.value,
        median_ms=float(np.median(late)),
        p90_ms=float(np.percentile(late, 90)),
        wrong=float(np.mean([each.wrong > 0 for each in found])),
        heard=float(np.mean([each.heard > 0 for each in found])),
        turns=len(found),
    )


def at_share(points: Sequence[Point], share: float, of: Callable[[Point], float]) -> float | None:
    """The median time at which no more than ``share`` of the turns are cut off; None beyond the curve."""
    fit = [point.median_ms for point in points if of(point) <= share]
    return min(fit, default=None)


def table(title: str, points: Sequence[Point]) -> None:
    print(f"\n{title}, {points[0].turns} turns")
    print(f"  {'policy':<8}{'setting':>8}  {'median':>7} {'p90':>6}   {'wrong':>6} {'heard':>6}")
    for point in points:
        print(
            f"  {point.policy:<8}{point.value:>8g}  {point.median_ms:>5.0f} ms {point.p90_ms:>4.0f}   "
            f"{point.wrong:>6.1%} {point.heard:>6.1%}"
        )
    for policy in dict.fromkeys(point.policy for point in points):
        own = [point for point in points if point.policy == policy]
        cells = []
        for share in (0.05, 0.10):
            for kind, of in (("wrong", lambda p: p.wrong), ("heard", lambda p: p.heard)):
                ms = at_share(own, share, of)
                cells.append(f"{kind} {share:.0%}: " + ("-" if ms is None else f"{ms:.0f} ms"))
        print(f"  {policy:<8} median at " + ", ".join(cells))


def draw(path: Path, results: dict[str, list[Point]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(results), figsize=(5.2 * len(results), 8), squeeze=False)
    for column, (title, points) in enumerate(results.items()):
        for row, (kind, of) in enumerate((("wrong", lambda p: p.wrong), ("heard", lambda p: p.heard))):
            axis = axes[row][column]
            for policy in dict.fromkeys(point.policy for point in points):
                own = [point for point in points if point.policy == policy]
                axis.plot([p.median_ms for p in own], [100 * of(p) for p in own], marker="o", ms=3, label=policy)
            axis.set_title(f"{title} (n={points[0].turns})")
            axis.set_xlabel("median endpointing time, ms after the last voiced sample")
            axis.set_ylabel(f"% of turns cut off: {kind}")
            axis.set_xlim(0, 1600)
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
            axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True, help="a manifest.jsonl beside its recordings")
    parser.add_argument("--condition", action="append", help="clean, snr=10, telephone, far-field ...; more than once")
    parser.add_argument("--noise", type=Path, help="a recording in which nobody speaks, for snr")
    parser.add_argument("--room", type=Path, help="a room's impulse response, for far-field")
    parser.add_argument("--group", action="append", choices=SETS, help="default: all")
    parser.add_argument("--limit", type=int, help="turns of each group")
    parser.add_argument("--opinion-ms", type=float, default=50, help="how late the turn-end model answers")
    parser.add_argument("--words-ms", type=float, default=180, help="from the pause to its final transcript")
    parser.add_argument("--reply-ms", type=float, default=150, help="from there to the first audible sample")
    parser.add_argument("--cache", type=Path, default=Path(".cache/endpointing"), help="what the models said")
    parser.add_argument("--png", type=Path, help="draw the curves there")
    parser.add_argument("--json", type=Path, help="write every point there")
    options = parser.parse_args()
    ms = VAD_RATE_HZ / 1000
    delays = Delays(
        opinion=round(options.opinion_ms * ms), words=round(options.words_ms * ms), reply=round(options.reply_ms * ms)
    )
    models = Models(options.cache)
    results: dict[str, list[Point]] = {}
    for condition in options.condition or ["clean"]:
        parse(condition)
        grouped: dict[str, list[Turn]] = {}
        for turn in turns(options.manifest, condition, options.noise, options.room):
            grouped.setdefault(turn.group, []).append(turn)
        for group, all_turns in grouped.items():
            if options.group and group not in options.group:
                continue
            heard = [models.trace(turn) for turn in all_turns[: options.limit]]
            title = group if condition == "clean" else f"{group}, {condition}"
            began, cpu = time.perf_counter(), time.process_time()
            results[title] = [score(setting, [trace for trace, _ in heard], delays) for setting in settings()]
            for _, keep in heard:
                keep()
            table(title, results[title])
            seconds = sum(len(trace.frames) for trace, _ in heard) * FRAME_SAMPLES / VAD_RATE_HZ * len(settings())
            if not models.judged_ms:  # else the models were at work too
                print(f"  a policy costs {1000 * (time.process_time() - cpu) / seconds:.2f} ms of CPU a second of audio")
            del began
    if models.judged_ms:
        print(f"\nturn-end model: {np.median(models.judged_ms):.0f} ms a question, n {len(models.judged_ms)}")
    if models.vad_ms_per_s:
        print(f"voice detector: {np.median(models.vad_ms_per_s):.0f} ms a second of audio")
    models.close()
    if options.json:
        rows = {title: [_row(point) for point in points] for title, points in results.items()}
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if options.png:
        draw(options.png, results)


def _row(point: Point) -> dict[str, Any]:
    point = replace(point)
    return {name: getattr(point, name) for name in point.__slots__}


if __name__ == "__main__":
    main()
