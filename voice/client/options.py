"""What replay and bench share: their options, the server they speak to, and what a run says of its circumstances."""

import argparse
import os
import platform
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from turngap.budget.allowance import Budget
from turngap.budget.clock import MS, calendar, monotonic
from turngap.budget.errors import ConfigurationError, ModelError
from turngap.budget.marks import Stage
from turngap.budget.report.record import TurnRecord
from turngap.budget.store.place import place
from turngap.budget.store.recorder import Recorder
from turngap.voice import settings
from turngap.voice.client.line import complete, health
from turngap.voice.client.own_server import running
from turngap.voice.client.player import PATIENCE_S
from turngap.voice.client.truth import Detector

VERSIONS_OF: Final = (
    "turngap", "numpy", "websockets", "faster-whisper", "ctranslate2", "onnxruntime", "piper-tts", "torch",
    "transformers", "soxr",
)  # fmt: skip
STOPPED: Final = 130
"""The exit status of a command that was ended by Ctrl-C."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that tell which server is spoken to, and what is kept."""
    parser.add_argument("--url", help="speak to this server (ws://HOST:PORT) instead of one of our own")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep each conversation as stereo WAV and JSON here")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the run as JSON here")
    parser.add_argument("--keep-stereo", action="store_true", help="send stereo recordings as two channels")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_S, metavar="S", help="wait so long for a reply (default %(default)s)"
    )
    settings.add_arguments(parser)


def manner(args: argparse.Namespace) -> dict[str, Any]:
    """How a conversation is held, as keyword arguments. The token is the setting by which a server would ask for it."""
    return {"token": settings.gather(args).token or None, "patience_s": args.patience}


@asynccontextmanager
async def server(args: argparse.Namespace, console: Console) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The address of the server to speak to, and its configuration; our own lasts for the length of the block."""
    if args.url:
        url = complete(args.url)
        answer = await health(url)
        yield url, {"url": url, **((answer or {}).get("config") or {})}
        return
    with console.status("starting the server") as status:

        def waiting(seconds: float) -> None:
            status.update(f"starting the server, loading its models: {seconds:.0f} s")

        # The client keeps what it heard; the server's word of the same turns would be there twice.
        chosen = [*settings.arguments_of(args), "--store=none"]
        async with running(chosen, clock=monotonic, waiting=waiting) as (url, answer):
            status.stop()
            yield url, dict(answer.get("config") or {})


def detector() -> Callable[[], Detector] | None:
    """What finds speech in recordings without a label, one for each recording; None where it is not installed."""
    try:
        from turngap.voice.endpointing.silero import Silero  # needs onnxruntime, which the client alone does not
        from turngap.voice.models.store import find
    except ImportError:
        return None
    try:
        model = Silero(find("silero-vad"))
    except ModelError:
        return None
    return lambda: model.listen().probability_now


def circumstances(server_config: dict[str, Any], lateness_p95_ms: float | None) -> dict[str, Any]:
    """What a run was made with: models, versions, machine, date."""
    return {
        **server_config,
        "date": calendar().isoformat(timespec="seconds"),
        "machine": {"cpu": cpu(), "cores": cores(), "system": platform.platform(), "python": platform.python_version()},
        "versions": {name: found for name in VERSIONS_OF if (found := installed(name)) is not None},
        "client": {"packet_lateness_p95_ms": lateness_p95_ms},
    }


def budget(args: argparse.Namespace, records: Sequence[TurnRecord]) -> Budget:
    """The budget of the run: what the server held its turns against, or what was asked for."""
    for record in records:
        if set(record.allowances_ms) >= {stage.value for stage in Stage}:
            allowances = {stage: round(record.allowances_ms[stage.value] * MS) for stage in Stage}
            return Budget(total=sum(allowances.values()), allowances=allowances)
    return Budget.of(settings.gather(args).budget)


def recorder(args: argparse.Namespace, console: Console, config: dict[str, Any]) -> Recorder | None:
    """Who keeps the turns of a bench, as for a server."""
    chosen = settings.gather(args)
    path = place(chosen.store)
    if path is None:
        return None
    try:
        return Recorder(path, kind="bench", config=config, budget={}, words=chosen.keep != "figures")
    except ConfigurationError as error:
        if chosen.store:
            raise
        console.print(f"turns are not kept: {error}", style="yellow", markup=False)
        return None


def cpu() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
