#!/usr/bin/env python3
"""False cut-offs against endpointing time, for each policy, over recordings whose end is known.

Each recording goes through the real models once; then every policy is replayed over the same trace, with evidence as
late as it is live (see :mod:`turngap.voice.endpointing.replay`), many times faster than real time. Every pause inside a
turn is a chance to be wrong. What the models said is kept in --cache, so that only new questions cost time.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from labelled_turns import BLOCK, SETS, Turn, labelled_turns
from numpy.typing import NDArray

from turngap.budget.clock import monotonic
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.audio.level import block_levels
from turngap.voice.client.conditions import parse
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, VAD_RATE_HZ, Endpointing, Frame, Onset
from turngap.voice.endpointing.replay import Decided, Delays, Trace, replay
from turngap.voice.endpointing.silero import Silero
from turngap.voice.endpointing.smart_turn import HEARD_S, SmartTurn
from turngap.voice.endpointing.voicing import Voicing
from turngap.voice.endpointing.weighing import Weighing
from turngap.voice.models import store

CERTAINTIES: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995)
HANGOVERS: Final = (100, 200, 300, 400, 500, 650, 800, 1000, 1300)


class Models:
    """The real models, asked once for each thing."""

    def __init__(self, cache: Path, heard_s: int) -> None:
        self._silero = Silero(store.find("silero-vad"))
        self._smart_turn = SmartTurn(store.find("smart-turn-v3.2"), clock=monotonic, heard_s=heard_s)
        self._heard = heard_s * VAD_RATE_HZ
        self._opinions = f"opinion after {heard_s} s"
        self._recognizer = make_recognizer("whisper", find_model=store.find, clock=monotonic)
        self._cache = cache
        self.judged_ms: list[float] = []
        self.vad_ms_per_s: list[float] = []

    def trace(self, turn: Turn) -> tuple[Trace, Callable[[], None]]:
        """What is heard of ``turn``, and what writes down what was asked of it."""
        path = self._cache / f"{turn.key}.json"
        known = json.loads(path.read_text("utf-8")) if path.is_file() else {"vad": None, "words": {}}
        opinions = known.setdefault(self._opinions, {})
        size = sum(len(part) for part in known.values() if part)
        frames = self._frames(turn.samples, known)
        start = _onset(frames)

        def opinion(end: int) -> float:
            if str(end) not in opinions:
                began = time.perf_counter()
                opinions[str(end)] = self._smart_turn.judge_now(turn.samples[max(start, end - self._heard) : end])
                self.judged_ms.append(1000 * (time.perf_counter() - began))
            return float(opinions[str(end)])

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
    found = [Setting("fixed", ms, partial(Hangover, hangover_ms=ms)) for ms in HANGOVERS]
    for policy in ("vad", "smart", "full"):
        weighing = partial(Weighing, asks=policy != "vad", lexicon=ENGLISH if policy == "full" else None)
        found += [Setting(policy, certainty, partial(weighing, certainty=certainty)) for certainty in CERTAINTIES]
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
        1000
        * ((len(trace.frames) * FRAME_SAMPLES if each.endpoint is None else each.endpoint) - trace.speech_end)
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


def _wrong(point: Point) -> float:
    return point.wrong


def _heard(point: Point) -> float:
    return point.heard


KINDS: Final = (("wrong", _wrong), ("heard", _heard))


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
            for kind, of in KINDS:
                ms = at_share(own, share, of)
                cells.append(f"{kind} {share:.0%}: " + ("-" if ms is None else f"{ms:.0f} ms"))
        print(f"  {policy:<8} median at " + ", ".join(cells))


def draw(path: Path, results: dict[str, list[Point]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(results), figsize=(5.2 * len(results), 8), squeeze=False)
    for column, (title, points) in enumerate(results.items()):
        for row, (kind, of) in enumerate(KINDS):
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
    parser.add_argument("--heard-s", type=int, default=HEARD_S, help="seconds that the turn-end model is given")
    parser.add_argument("--opinion-ms", type=float, default=120, help="how late the turn-end model answers")
    parser.add_argument("--words-ms", type=float, default=210, help="from the pause to its final transcript")
    parser.add_argument("--reply-ms", type=float, default=220, help="from there to the first audible sample")
    parser.add_argument("--cache", type=Path, default=Path(".cache/endpointing"), help="what the models said")
    parser.add_argument("--png", type=Path, help="draw the curves there")
    parser.add_argument("--json", type=Path, help="write every point there")
    options = parser.parse_args()
    ms = VAD_RATE_HZ / 1000
    delays = Delays(
        opinion=round(options.opinion_ms * ms), words=round(options.words_ms * ms), reply=round(options.reply_ms * ms)
    )
    models = Models(options.cache, options.heard_s)
    results: dict[str, list[Point]] = {}
    for condition in options.condition or ["clean"]:
        parse(condition)
        grouped: dict[str, list[Turn]] = {}
        for turn in labelled_turns(options.manifest, condition, options.noise, options.room):
            grouped.setdefault(turn.group, []).append(turn)
        for group, all_turns in grouped.items():
            if options.group and group not in options.group:
                continue
            heard = [models.trace(turn) for turn in all_turns[: options.limit]]
            title = group if condition == "clean" else f"{group}, {condition}"
            cpu = time.process_time()
            results[title] = [score(setting, [trace for trace, _ in heard], delays) for setting in settings()]
            for _, keep in heard:
                keep()
            table(title, results[title])
            seconds = sum(len(trace.frames) for trace, _ in heard) * FRAME_SAMPLES / VAD_RATE_HZ * len(settings())
            if not models.judged_ms:  # else the models were at work too
                spent = 1000 * (time.process_time() - cpu) / seconds
                print(f"  a policy costs {spent:.2f} ms of CPU a second of audio")
    if models.judged_ms:
        print(f"\nturn-end model: {np.median(models.judged_ms):.0f} ms a question, n {len(models.judged_ms)}")
    if models.vad_ms_per_s:
        print(f"voice detector: {np.median(models.vad_ms_per_s):.0f} ms a second of audio")
    models.close()
    if options.json:
        rows = {title: [asdict(point) for point in points] for title, points in results.items()}
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if options.png:
        draw(options.png, results)


if __name__ == "__main__":
    main()
