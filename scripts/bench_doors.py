"""What the Realtime door costs beside raw PCM: the gap that a client hears at each, in turns, in one run.

    python3 scripts/bench_doors.py --turns 20

The server is made of the shipped fakes, which take no time, and ends a turn after a fixed hangover: what differs is the
door. Both clients send the same audio in packets of 20 ms at the same rate, and take the time from the last voiced
sample that they sent to the first audio that they read.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import statistics
from typing import Any

import environment

RATE_HZ = 24_000
PACKET = RATE_HZ // 50


def settings() -> dict[str, Any]:
    return {
        "llm": "scripted?reply=Sure, I can do that for you.",
        "asr": "scripted?text=two coffees please",
        "voice": "tone",
        "endpointing": "fixed?vad=energy&hangover=200",
        "speculation": "none",
        "port": 0,
    }


async def gap(client: Any, sends: Any, sounds: Any) -> float:
    """Say something, and the ms until an answer is heard."""
    import numpy as np

    from turngap.budget.clock import MS, monotonic

    voice = 0.2 * np.sin(np.arange(RATE_HZ // 2) / 7.5)
    room = np.random.default_rng(0).normal(0, 0.0003, RATE_HZ * 3)
    audio = (np.concatenate([room[: RATE_HZ // 2], voice, room]) * 32767).astype("<i2").tobytes()
    start = monotonic()

    async def speak() -> None:
        for index in range(len(audio) // (2 * PACKET)):
            await asyncio.sleep(max(0, start + (index + 1) * 20 * MS - monotonic()) / 1e9)
            await client.send(sends(audio[2 * PACKET * index : 2 * PACKET * (index + 1)]))

    speaking = asyncio.create_task(speak())
    try:
        while not sounds(await client.recv()):
            pass
        return (monotonic() - start) / MS - 1000.0
    finally:
        speaking.cancel()
        await asyncio.wait([speaking])


async def pcm(url: str) -> float:
    """One turn over raw PCM."""
    from websockets.asyncio.client import connect

    async with connect(url, proxy=None) as client:
        await client.send(json.dumps({"type": "start", "sample_rate": RATE_HZ}))
        return await gap(client, lambda packet: packet, lambda message: isinstance(message, bytes))


async def realtime(url: str) -> float:
    """One turn over the Realtime protocol."""
    from websockets.asyncio.client import connect

    async with connect(url.replace("/v1/pcm", "/v1/realtime"), proxy=None) as client:
        return await gap(
            client,
            lambda packet: json.dumps(
                {"type": "input_audio_buffer.append", "audio": base64.b64encode(packet).decode()}
            ),
            lambda message: '"response.output_audio.delta"' in message,
        )


async def bench(turns: int) -> dict[str, list[float]]:
    """The gaps of both doors, in ms, taken in turns."""
    from turngap.budget.clock import monotonic
    from turngap.voice.engine import Engine
    from turngap.voice.models.store import find
    from turngap.voice.server import Server
    from turngap.voice.settings import Settings

    chosen = Settings(**settings())
    engine = Engine(chosen, find_model=find, clock=monotonic)
    server = Server(chosen, engine, monotonic)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(server.run(ready.set_result))
    url = await ready
    found: dict[str, list[float]] = {"pcm": [], "realtime": []}
    for _ in range(turns):
        found["pcm"].append(await pcm(url))
        found["realtime"].append(await realtime(url))
    server.stop()
    await running
    await engine.aclose()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20, help="at each door")
    found = asyncio.run(bench(parser.parse_args().turns))
    for door, gaps in found.items():
        cuts = statistics.quantiles(gaps, n=20, method="inclusive")
        print(f"{door:<9} p50 {cuts[9]:6.1f} ms   p95 {cuts[18]:6.1f} ms   n={len(gaps)}")
    halves = {door: statistics.median(gaps) for door, gaps in found.items()}
    more, times = halves["realtime"] - halves["pcm"], halves["realtime"] / halves["pcm"]
    print(f"realtime: {more:+.1f} ms, {times:.3f} times pcm at p50")
    return 0


if __name__ == "__main__":
    environment.enter()
    raise SystemExit(main())
