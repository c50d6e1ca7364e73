"""``turngap serve``: warm the models, then open the port."""

import argparse
import asyncio
import gc
import logging
import sys
from collections.abc import Mapping
from typing import Any, Final

from turngap.budget.clock import milliseconds, monotonic
from turngap.budget.errors import ConfigurationError
from turngap.budget.store.place import place
from turngap.budget.store.recorder import Recorder
from turngap.voice.protocols.pcm import PATH
from turngap.voice.settings import Settings, add_arguments, gather

KEEP: Final = ("figures", "words", "audio")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("serve", help="serve conversations over websockets", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--verbose", action="store_true", help="log what happens, ids and durations only")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("websockets").setLevel(logging.ERROR)
    asyncio.run(_serve(gather(args)))
    return 0


async def _serve(settings: Settings) -> None:
    from turngap.voice.engine import Engine
    from turngap.voice.models.store import find
    from turngap.voice.server import Server, stop_on_signals

    began = monotonic()
    gc.disable()  # a tenth of the time to load goes into looking for garbage among what is only being made
    _say(f"warming up: {settings.asr}, {settings.llm}, {settings.voice}")
    engine = Engine(settings, find_model=find, clock=monotonic)
    recorder = recorder_of(settings, engine.describe())
    server = Server(settings, engine, monotonic, recorder=recorder)
    stop_on_signals(server)
    try:
        await engine.warm()
        if recorder is not None:
            description = engine.describe()
            recorder.described(description, description["budget"])
            _say(f"run {recorder.run}")
        settle_down()
        _say(f"warm after {milliseconds(monotonic() - began) / 1000:.1f} s")
        await server.run(_invite)
    finally:
        await engine.aclose()
        if recorder is not None:
            recorder.close()
    _say("stopped")


def recorder_of(settings: Settings, description: Mapping[str, Any]) -> Recorder | None:
    """Who keeps the turns; None where nobody is to. Where only the default place cannot be used, that is said and all
    goes on without."""
    if settings.keep not in KEEP:
        raise ConfigurationError(f"there is no keep '{settings.keep}'", remedy=f"Choose: {', '.join(KEEP)}")
    path = place(settings.store)
    if path is None:
        return None
    try:
        return Recorder(
            path, kind="serve", config=description, budget=description["budget"], words=settings.keep != "figures"
        )
    except ConfigurationError as error:
        if settings.store:
            raise
        _say(f"turns are not kept: {error}")
        return None


def settle_down() -> None:
    """Tune the interpreter for a process whose threads wait for each other."""
    # The models' million objects stay for good; looking through them costs tens of milliseconds each time.
    gc.collect()
    gc.freeze()
    gc.enable()
    # A thread that wants to go on waits this long for one that computes in Python; 5 ms is the default.
    sys.setswitchinterval(0.001)


def _invite(url: str) -> None:
    _say(f"talk to it in a browser at {url.replace('ws', 'http', 1).removesuffix(PATH)}/")
    _say(f"listening on {url}")


def _say(line: str) -> None:
    print(f"turngap: {line}", file=sys.stderr, flush=True)
