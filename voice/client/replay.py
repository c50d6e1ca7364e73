"""``turngap replay``: recordings played into a server in real time, and a waterfall for every turn."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError
from turngap.budget.report.run import summarise
from turngap.budget.report.waterfall import Waterfall
from turngap.voice.client import options
from turngap.voice.client.clips import Clip, Ready, collect, prepare
from turngap.voice.client.conversation import Conversation, write_json
from turngap.voice.client.measure import failed
from turngap.voice.client.player import late_ms


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command. ``subparsers`` is argparse's, whose type has no public name."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "replay", help="play recordings into a server and show where the gap of each turn went", description=__doc__
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recording; .raw is 16 kHz mono PCM16")
    options.add_options(parser)
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Play every file, each in a conversation of its own. 0 if every turn was measured, 130 after Ctrl-C."""
    console = Console()
    replay = Replay(args, console)
    ready = replay.prepare()
    try:
        asyncio.run(replay.play(ready))
    except KeyboardInterrupt:
        console.print("\nstopped; what was recorded so far is kept", style="yellow")
        return options.STOPPED
    finally:
        replay.finish()
    return 0 if replay.measured() else 1


class Replay:
    """The conversations of one command, and what came of them."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        self._args = args
        self._console = console
        self._conversations: list[Conversation] = []
        self._config: dict[str, Any] = {}

    def prepare(self) -> list[Ready]:
        """Read all files before anything is started, so that a wrong name costs nobody a minute."""
        found = options.detector()
        clips = [clip for path in self._args.files for clip in files(path)]
        with self._console.status("finding the speech in the recordings"):
            ready = [prepare(clip, found, turns=True, keep_stereo=self._args.keep_stereo) for clip in clips]
        for each in ready:
            if not each.users:
                raise ConfigurationError(f"no end of speech is known in {each.clip.path}", remedy=no_end(found))
        return ready

    async def play(self, clips: Sequence[Ready]) -> None:
        async with options.server(self._args, self._console) as (url, config):
            self._config = config
            for clip in clips:
                conversation = Conversation([clip])
                self._conversations.append(conversation)
                self._console.print(Text(f"playing {clip.clip.path.name} ({clip.recording.seconds:.1f} s)", "dim"))
                await conversation.hold(url, clock=monotonic, **options.manner(self._args))
                self._show(conversation)

    def finish(self) -> None:
        """Keep what was asked to be kept; also after a failure, with what there is."""
        lateness = [late for each in self._conversations if each.call for late in each.call.lateness]
        records = [record for each in self._conversations for record in each.records()]
        if self._args.save:
            for number, each in enumerate(self._conversations, 1):
                each.save(self._args.save, f"{number:02d}-{Path(each.name).stem}")
        out = self._args.json or (self._args.save and self._args.save / "run.json")
        if out and self._conversations:
            config = options.circumstances(self._config, late_ms(lateness))
            write_json(out, summarise(records, budget=options.budget(self._args, records), config=config))
            self._console.print(Text(f"kept in {out}", "dim"), soft_wrap=True)

    def measured(self) -> bool:
        records = [record for each in self._conversations for record in each.records()]
        return all(record.answered and not record.unmeasured for record in records)

    def _show(self, conversation: Conversation) -> None:
        for record in conversation.records():
            self._console.print(Waterfall(record))
            if record.outcome and record.outcome.startswith(failed.__name__):
                self._console.print(f"  {record.outcome}", style="bold red", markup=False)
            self._console.print()


def files(path: Path) -> list[Clip]:
    """A file as a clip, with its label where a manifest beside it or above it has one."""
    for folder in list(path.resolve().parents)[:6]:
        if (manifest := folder / "manifest.jsonl").is_file():
            named = [clip for clip in collect(manifest) if clip.path.resolve() == path.resolve()]
            return named or [Clip(path=path, name=path.stem)]
    return [Clip(path=path, name=path.stem)]


def no_end(found: object) -> str:
    """What to do where no end of speech is known."""
    if found is None:
        return "Run: turngap models pull silero-vad, or give a manifest.jsonl with speech_end_s beside it"
    return "No voice was found in it: is it a recording of speech?"
