"""``turngap bench``: a set of recordings played into a server, and a table of how long people would have waited."""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.run import summarise
from turngap.budget.report.table import table
from turngap.budget.store.recorder import Recorder
from turngap.voice.client import options
from turngap.voice.client.clips import Clip, Ready, collect, prepare
from turngap.voice.client.conversation import Conversation, write_json
from turngap.voice.client.measure import failed
from turngap.voice.client.player import late_ms
from turngap.voice.client.replay import no_end


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command. ``subparsers`` is argparse's, whose type has no public name."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "bench", help="play a set of recordings into a server and sum up the gaps", description=__doc__
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="a manifest.jsonl, or a folder of recordings")
    parser.add_argument("--set", dest="chosen_set", metavar="NAME", help="only this set of the manifest")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N recordings")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="the whole set so many times")
    parser.add_argument("--conversation", action="store_true", help="all recordings in one conversation")
    options.add_options(parser)
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Play every clip. 0 if every turn was answered and measured, 130 after Ctrl-C; the JSON is written either way."""
    console = Console()
    bench = Bench(args, console)
    clips = collect(args.path, chosen_set=args.chosen_set, limit=args.limit) * args.repeat
    try:
        asyncio.run(bench.play(clips))
    except KeyboardInterrupt:
        console.print("\nstopped; what was measured so far is kept", style="yellow")
        return options.STOPPED
    finally:
        bench.finish()
    return 0 if all(record.answered and not record.unmeasured for record in bench.records) else 1


class Bench:
    """The run: its records so far, in the order of the clips."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        self.records: list[TurnRecord] = []
        self._args = args
        self._console = console
        self._config: dict[str, Any] = {}
        self._lateness: list[int] = []
        self._detector = options.detector()
        self._recorder: Recorder | None = None
        self._conversations = 0

    async def play(self, clips: Sequence[Clip]) -> None:
        async with options.server(self._args, self._console) as (url, config):
            self._config = config
            self._recorder = options.recorder(self._args, self._console, options.circumstances(config, None))
            with progress(self._console) as shown:
                task = shown.add_task("", total=len(clips))
                for group in self._groups(clips):
                    shown.update(task, description=group[0].clip.name[:24])
                    await self._converse(Conversation(group), url)
                    shown.update(task, completed=len(self.records))

    def finish(self) -> None:
        """Write the run and print its table, with what there is."""
        config = options.circumstances(self._config, late_ms(self._lateness))
        budget = options.budget(self._args, self.records)
        found = summarise(self.records, budget=budget, config=config)
        if self._recorder is not None:
            self._recorder.described(config, budget.to_json())
            self._recorder.close()
            self._console.print(Text(f"  run {self._recorder.run}", "dim"))
        if self.records:
            self._console.print(table(found))
        for record in self.records:
            if record.outcome and record.outcome.startswith(failed.__name__):
                self._console.print(f"  {record.name}: {record.outcome}", style="red", markup=False)
        if self._args.json:
            write_json(self._args.json, found)
            self._console.print(Text(f"  written to {self._args.json}", "dim"), soft_wrap=True)

    async def _converse(self, conversation: Conversation, url: str) -> None:
        try:
            await conversation.hold(url, clock=monotonic, **options.manner(self._args))
        finally:
            number = len(self.records)
            self._keep(conversation.records())
            if conversation.call is not None:
                self._lateness += conversation.call.lateness
            if self._args.save:
                conversation.save(self._args.save, f"{number + 1:03d}-{Path(conversation.name).stem}")

    def _groups(self, clips: Sequence[Clip]) -> Iterator[list[Ready]]:
        """The clips of each conversation, made ready while nobody speaks: finding the speech keeps a core busy."""
        if self._args.conversation:
            ready = [found for clip in clips if (found := self._ready(clip)) is not None]
            if ready:
                yield ready
            return
        for clip in clips:
            if (found := self._ready(clip)) is not None:
                yield [found]

    def _ready(self, clip: Clip) -> Ready | None:
        """The clip, or None, and the reason on record."""
        try:
            ready = prepare(clip, self._detector, turns=False, keep_stereo=self._args.keep_stereo)
            if not ready.users:
                raise ConfigurationError("no end of speech is known", remedy=no_end(self._detector))
        except ConfigurationError as error:
            self._keep([failed(clip.name, str(error), number=1, file=str(clip.path), reference=clip.text)])
            return None
        return ready

    def _keep(self, records: Sequence[TurnRecord]) -> None:
        """The records of one conversation, here and in the store."""
        self.records += records
        self._conversations += 1
        for record in records:
            if self._recorder is not None:
                self._recorder.turn_ended(self._conversations, record.turn, partial(_itself, record))


def _itself(record: TurnRecord) -> TurnRecord:
    return record


def progress(console: Console) -> Progress:
    """Progress that says how far, which clip, and how long still."""
    return Progress(
        MofNCompleteColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn(),
        console=console, refresh_per_second=2,  # drawing takes time from the server beside us
    )  # fmt: skip
