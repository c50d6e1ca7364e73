"""Many turns against one server: what the pipeline itself costs, how it shares, and whether it grows.

    python scripts/bench_server.py --fakes                      the pipeline alone: stages that cost nothing
    python scripts/bench_server.py --turns 200 --sessions 3     real models: memory, and conversations side by side
    python scripts/bench_server.py --llm scripted ...           any setting of ``turngap serve``

Every conversation keeps its line open, so its history and its cache grow as they would, up to the backend's context;
with ``--each 10`` a new one begins after ten turns, so that what stays is what leaks. The figures are the server's own
(``reported_gap_ms``); what a recording hears is the business of ``turngap bench``.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from turngap.budget.clock import monotonic
from turngap.budget.percentiles import Summary
from turngap.voice import settings
from turngap.voice.client.line import dial, health
from turngap.voice.client.own_server import running
from turngap.voice.client.player import Call, calling
from turngap.voice.client.recording import read, resampled
from turngap.voice.endpointing.hangover import HANGOVER_MS
from turngap.voice.models.store import find

RATE_HZ = 16_000
FAKES = ["--llm=scripted?reply=Sure, done.", "--asr=scripted", "--voice=tone", "--endpointing=fixed?vad=energy"]


def beep() -> NDArray[np.float32]:
    """What the energy detector takes for speech: 0.5 s of a tone."""
    return np.asarray(0.2 * np.sin(np.arange(RATE_HZ // 2) / 5.0), np.float32)


def recorded(path: Path) -> NDArray[np.float32]:
    recording = read(path)
    return resampled(recording.mono, recording.rate_hz, RATE_HZ)


@dataclass
class Measured:
    """What is known so far; a long run is worth something from its first turn on."""

    memory: list[tuple[int, int]] = field(default_factory=list)
    """Turns ended, and the server's resident bytes then."""
    calls: list[Call] = field(default_factory=list)
    loop_late_ms: dict[str, Any] = field(default_factory=dict)
    """How late the server's event loop was, by its own beat."""

    @property
    def turns(self) -> list[dict[str, Any]]:
        return [turn for call in self.calls for turn in call.turns]


async def converse(
    url: str, speech: NDArray[np.float32], turns: int, measured: Measured, on_turn: Callable[[], None]
) -> None:
    """Hold one conversation of so many turns; the server's report of each lands in ``measured``."""
    quiet = np.random.default_rng(0).normal(0, 0.0003, RATE_HZ).astype(np.float32)
    async with dial(url) as line:
        call = Call(line, rate_hz=RATE_HZ, channels=1, clock=monotonic)
        measured.calls.append(call)
        async with calling(call):
            await call.stay_quiet(0.5)
            for _ in range(turns):
                begins_s = call.load(speech[:, None], quiet=quiet)
                await call.speak(since_s=begins_s + len(speech) / RATE_HZ)
                on_turn()


async def measure(args: argparse.Namespace) -> Measured:
    options = [*(FAKES if args.fakes else []), *settings.arguments_of(args)]
    speech = beep() if args.fakes else recorded(args.clip or find("recordings") / "cards-003.wav")
    measured = Measured()
    async with running(options, clock=monotonic, waiting=lambda _: None) as (url, _):
        server = psutil.Process().children()[0]

        def note() -> None:
            measured.memory.append((len(measured.memory), server.memory_info().rss))
            if args.json and len(measured.memory) > 1:
                args.json.write_text(json.dumps(summarise(measured, args), indent=1) + "\n", "utf-8")

        note()
        share = -(-args.turns // args.sessions)

        async def hold() -> None:
            for begun in range(0, share, args.each or share):
                turns = min(args.each or share, share - begun)
                await converse(url, speech, turns, measured, note)

        await asyncio.gather(*(hold() for _ in range(args.sessions)))
        told = await health(url)
        measured.loop_late_ms = told["loop_late_ms"] if told else {}
    return measured


def summarise(measured: Measured, args: argparse.Namespace) -> dict[str, Any]:
    turns, memory = measured.turns, measured.memory
    gaps = Summary.of([turn["reported_gap_ms"] for turn in turns])
    settled = [rss for done, rss in memory if done >= min(10, args.turns // 4)] or [memory[-1][1]]
    return {
        "turns": len(turns),
        "sessions": args.sessions,
        "turns_per_conversation": [len(call.turns) for call in measured.calls],
        "outcomes": dict(Counter(turn["outcome"] for turn in turns)),
        "unanswered": [number for number, turn in enumerate(turns, 1) if turn["outcome"] != "answered"],
        "reported_gap_ms": gaps.to_json("p50", "p95", "p99", "max"),
        "beyond_hangover_ms": Summary.of(
            [None if turn["reported_gap_ms"] is None else turn["reported_gap_ms"] - HANGOVER_MS for turn in turns]
        ).to_json("p50", "p95", "p99", "max"),
        "residual_ms": Summary.of([turn["residual_ms"] for turn in turns]).to_json("p50", "p95", "max"),
        "final_transcript_ms": final_transcript_ms(turns),
        "loop_late_ms": measured.loop_late_ms,
        "rss_mb_ready": memory[0][1] / 1e6,
        "rss_mb_settled": settled[0] / 1e6,
        "rss_mb_end": settled[-1] / 1e6,
        "rss_mb_peak": max(rss for _, rss in memory) / 1e6,
        "rss_growth": settled[-1] / settled[0] - 1,
    }


def final_transcript_ms(turns: Sequence[dict[str, Any]], share: float = 0.2) -> dict[str, float | None]:
    """From the pause to the final transcript: medians of the first and of the last fifth of the turns."""
    took = [turn["marks"]["transcript"] - turn["marks"]["pause"] for turn in turns if "transcript" in turn["marks"]]
    part = max(1, round(len(took) * share))
    return {"first": Summary.of(took[:part]).p50, "last": Summary.of(took[-part:]).p50}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fakes", action="store_true", help="stages that cost nothing, and a beep for a voice")
    parser.add_argument("--turns", type=int, default=100, help="in all (default: 100)")
    parser.add_argument("--sessions", type=int, default=1, help="conversations at once (default: 1)")
    parser.add_argument("--each", type=int, help="turns of a conversation, then a new one (default: all)")
    parser.add_argument("--clip", type=Path, help="what is said in each turn (default: a short recording)")
    parser.add_argument("--json", type=Path, help="write the figures there, after every turn")
    settings.add_arguments(parser)
    args = parser.parse_args(arguments)
    figures = summarise(asyncio.run(measure(args)), args)
    table = Table(title="server", show_header=False)
    for key, value in figures.items():
        table.add_row(key, ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else f"{value}")
    Console().print(table)


if __name__ == "__main__":
    main()
