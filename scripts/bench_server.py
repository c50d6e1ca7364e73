"""Many turns against one server: what the pipeline itself costs, how it shares, and whether it grows.

    python scripts/bench_server.py --fakes                      the pipeline alone: stages that cost nothing
    python scripts/bench_server.py --turns 200 --sessions 3     real models: memory, and conversations side by side
    python scripts/bench_server.py --llm scripted ...           any setting of ``turngap serve``

Every conversation keeps its line open, so its history and its cache grow as they would. The figures are the server's
own (``reported_gap_ms``); what a recording hears is the business of ``turngap bench``.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
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
from turngap.voice.client.line import dial
from turngap.voice.client.own_server import running
from turngap.voice.client.player import Call, calling
from turngap.voice.client.recording import read, resampled
from turngap.voice.models.store import find

RATE_HZ = 16_000
FAKES = ["--llm=scripted?reply=Sure, done.", "--asr=scripted", "--voice=tone", "--endpointing=fixed?vad=energy"]
HANGOVER_MS = 200.0


def beep() -> NDArray[np.float32]:
    """What the energy detector takes for speech: 0.5 s of a tone."""
    return np.asarray(0.2 * np.sin(np.arange(RATE_HZ // 2) / 5.0), np.float32)


def recorded(path: Path) -> NDArray[np.float32]:
    recording = read(path)
    return resampled(recording.mono, recording.rate_hz, RATE_HZ)


async def converse(url: str, speech: NDArray[np.float32], turns: int, on_turn: Any) -> list[dict[str, Any]]:
    """Hold one conversation of so many turns; the server's report of each."""
    quiet = np.random.default_rng(0).normal(0, 0.0003, RATE_HZ).astype(np.float32)
    async with dial(url) as line:
        call = Call(line, rate_hz=RATE_HZ, channels=1, clock=monotonic)
        async with calling(call):
            await call.stay_quiet(0.5)
            for _ in range(turns):
                begins_s = call.load(speech[:, None], quiet=quiet)
                await call.speak(since_s=begins_s + len(speech) / RATE_HZ)
                on_turn()
        return call.turns


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    options = [*(FAKES if args.fakes else []), *settings.arguments_of(args)]
    speech = beep() if args.fakes else recorded(args.clip or find("recordings") / "cards-003.wav")
    async with running(options, clock=monotonic, waiting=lambda _: None) as (url, _):
        server = psutil.Process().children()[0]
        memory = [(0, server.memory_info().rss)]
        done = 0

        def on_turn() -> None:
            nonlocal done
            done += 1
            memory.append((done, server.memory_info().rss))

        each = -(-args.turns // args.sessions)
        reports = await asyncio.gather(*(converse(url, speech, each, on_turn) for _ in range(args.sessions)))
    return {"turns": [turn for turns in reports for turn in turns], "memory": memory, "each": [len(r) for r in reports]}


def summarise(measured: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    turns = measured["turns"]
    gaps = Summary.of([turn["reported_gap_ms"] for turn in turns])
    settled = [rss for done, rss in measured["memory"] if done >= min(10, args.turns // 4)]
    return {
        "turns": len(turns),
        "sessions": args.sessions,
        "turns_per_session": measured["each"],
        "answered": sum(turn["outcome"] == "answered" for turn in turns),
        "reported_gap_ms": gaps.to_json("p50", "p95", "p99", "max"),
        "beyond_hangover_ms": Summary.of(
            [None if turn["reported_gap_ms"] is None else turn["reported_gap_ms"] - HANGOVER_MS for turn in turns]
        ).to_json("p50", "p95", "p99", "max"),
        "residual_ms": Summary.of([turn["residual_ms"] for turn in turns]).to_json("p50", "p95", "max"),
        "rss_mb_ready": measured["memory"][0][1] / 1e6,
        "rss_mb_settled": settled[0] / 1e6,
        "rss_mb_end": settled[-1] / 1e6,
        "rss_mb_peak": max(rss for _, rss in measured["memory"]) / 1e6,
        "rss_growth": settled[-1] / settled[0] - 1,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fakes", action="store_true", help="stages that cost nothing, and a beep for a voice")
    parser.add_argument("--turns", type=int, default=100, help="in all (default: 100)")
    parser.add_argument("--sessions", type=int, default=1, help="conversations at once (default: 1)")
    parser.add_argument("--clip", type=Path, help="what is said in each turn (default: a short recording)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    settings.add_arguments(parser)
    args = parser.parse_args(arguments)
    figures = summarise(asyncio.run(measure(args)), args)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    table = Table(title="server", show_header=False)
    for key, value in figures.items():
        table.add_row(key, ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else f"{value}")
    Console().print(table)


if __name__ == "__main__":
    main()
