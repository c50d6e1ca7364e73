#!/usr/bin/env python3
"""What a conversation costs the server while nobody speaks, and while somebody does.

    python3 scripts/bench_idle.py --manifest MANIFEST [--seconds 30] [options of turngap serve]

A server is started; one client first connects and sends the hiss of a quiet room, then holds a conversation of orders,
in real time. CPU time is the server's own, of all its threads, as a share of one core.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import numpy as np

from turngap.budget.clock import SECOND, monotonic
from turngap.budget.errors import TurngapError
from turngap.voice.client import options
from turngap.voice.client.clips import collect, prepare
from turngap.voice.client.conversation import Conversation
from turngap.voice.client.line import dial
from turngap.voice.client.own_server import running
from turngap.voice.client.player import Call, calling

SETTLING_S: Final = 5.0
"""After the start: what is learned in idle time may still be at work."""
ORDERS: Final = 4
RATE_HZ: Final = 16_000


def server_cpu_s() -> float:
    """CPU seconds of this process's children so far: the server's."""
    ticks = 0.0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text("utf-8").split():
            fields = Path(f"/proc/{child}/stat").read_text("utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def silence(url: str, seconds: float) -> float:
    """The load of a client that is connected and quiet."""
    async with dial(url) as line:
        call = Call(line, rate_hz=RATE_HZ, channels=1, clock=monotonic)
        hiss = np.random.default_rng(0).normal(0, 0.0005, (RATE_HZ, 1)).astype(np.float32)
        call.load(np.zeros((1, 1), np.float32), quiet=hiss[:, 0])
        async with calling(call):
            await call.stay_quiet(SETTLING_S)
            began, cpu = monotonic(), server_cpu_s()
            await call.stay_quiet(seconds)
            return (server_cpu_s() - cpu) * SECOND / (monotonic() - began)


async def conversation(url: str, manifest: Path) -> tuple[float, float]:
    """The load of a conversation, and how long it took."""
    clips = collect(manifest, chosen_set="speech/picovoice-barista", limit=ORDERS)
    detector = options.detector()
    ready = [prepare(clip, detector, turns=False) for clip in clips]
    began, cpu = monotonic(), server_cpu_s()
    await Conversation(ready).hold(url, clock=monotonic)
    took = (monotonic() - began) / SECOND
    return (server_cpu_s() - cpu) / took, took


async def measure(serve: list[str], manifest: Path, seconds: float) -> None:
    async with running(serve, clock=monotonic, waiting=lambda _: None) as (url, _):
        print(
            f"silent client:   {100 * await silence(url, seconds):.1f} % of one core, over {seconds:.0f} s", flush=True
        )
        load, took = await conversation(url, manifest)
        print(f"in conversation: {100 * load:.0f} % of one core, over {took:.0f} s and {ORDERS} orders")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=30.0)
    args, serve = parser.parse_known_args()
    asyncio.run(measure(serve, args.manifest, args.seconds))


if __name__ == "__main__":
    try:
        main()
    except TurngapError as error:
        sys.exit(f"{error}")
