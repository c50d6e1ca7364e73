"""A server of fakes on a port of its own, for clients that are processes of their own: prints its URL, and stops when
its input ends. Arguments are settings, ``name=value``."""

import asyncio
import sys
from dataclasses import fields
from typing import Any, Final

from turngap.budget.clock import monotonic
from turngap.voice.engine import Engine
from turngap.voice.models.store import find
from turngap.voice.server import Server
from turngap.voice.settings import Settings

FAKES: Final[dict[str, Any]] = {
    "llm": "scripted?reply=Sure, I can do that for you. It will not take long.",
    "asr": "scripted?text=two coffees please",
    "voice": "tone",
    "endpointing": "fixed?vad=energy",
    "port": 0,
}


async def main(words: list[str]) -> None:
    kinds: dict[str, Any] = {setting.name: type(setting.default) for setting in fields(Settings)}
    named = dict(word.split("=", 1) for word in words)
    given = {name: kinds[name](value) for name, value in named.items()}
    settings = Settings(**{**FAKES, **given})
    engine = Engine(settings, find_model=find, clock=monotonic)
    server = Server(settings, engine, monotonic)
    await engine.warm()
    running = asyncio.create_task(server.run(lambda url: print(url, flush=True)))
    await asyncio.to_thread(sys.stdin.read)
    server.stop()
    await running
    await engine.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
