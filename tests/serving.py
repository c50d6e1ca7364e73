"""A server on a real socket, with the shipped fakes, for as long as a test lasts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import numpy as np
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from turngap.budget.clock import monotonic
from turngap.voice.engine import Engine
from turngap.voice.server import Server
from turngap.voice.settings import Settings

FAKES: dict[str, Any] = {
    "llm": "scripted?reply=Sure, I can do that for you. It will not take long.",
    "asr": "scripted?text=two coffees please",
    "voice": "tone",
    "endpointing": "fixed?vad=energy",
    "port": 0,
}
VOICE = (0.2 * np.sin(np.arange(16_000) / 5)).astype(np.float32)
ROOM = np.random.default_rng(0).normal(0, 0.0003, 16_000).astype(np.float32)


def no_model(name: str) -> NoReturn:
    raise AssertionError(f"the fakes asked for {name}")


def pcm(samples: Any) -> bytes:
    return bytes((samples * 32767).astype("<i2").tobytes())


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[str]:
    chosen = Settings(**{**FAKES, **settings})
    engine = Engine(chosen, find_model=no_model, clock=monotonic)
    server = Server(chosen, engine, monotonic)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server.run(ready.set_result))
        try:
            yield await ready
        finally:
            server.stop()
            await running
            await engine.aclose()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert left == [], "a server leaves no task behind"


def serve(test: Callable[[str], Awaitable[None]], **settings: Any) -> None:
    async def run() -> None:
        async with asyncio.timeout(30), serving(**settings) as url:
            await test(url)

    asyncio.run(run())


async def listen_to_the_end(client: ClientConnection) -> int | None:
    """Take in everything until the server hangs up; its closing code."""
    try:
        while True:
            await client.recv()
    except ConnectionClosed as closed:
        return None if closed.rcvd is None else closed.rcvd.code
