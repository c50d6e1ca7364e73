"""``turngap models list | pull | verify``."""

import argparse
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TransferSpeedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from turngap.budget.errors import ModelError
from turngap.voice.models import store
from turngap.voice.models.entries import CATALOGUE


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> argparse.ArgumentParser:
    """Add ``models`` to the command's parsers; its ``run`` default is :func:`run`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "models", help="list, pull and verify the models", description="The models that turngap's defaults use."
    )
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in (
        ("list", "what there is, and what is here"),
        ("pull", "bring models here, verified and prepared (all of them, unless named)"),
        ("verify", "check every byte of the models that are here"),
    ):
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        action.add_argument(
            "--cache",
            type=Path,
            metavar="DIR",
            help=f"where models are kept (default: {store.CACHE_VARIABLE}, or a cache folder)",
        )
        if name != "list":
            action.add_argument("names", nargs="*", metavar="NAME", help="models to work on (default: all)")
        if name == "pull":
            action.add_argument(
                "--from", dest="source", choices=("packages", "hub"), default="packages", help="where to get them"
            )
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; 0 if all is well, 1 with a line on stderr if not, 130 if interrupted."""
    try:
        match arguments.action:
            case "list":
                show_list(arguments.cache, Console())
                return 0
            case "pull":
                return _pull(arguments)
            case _:
                return _verify(arguments)
    except ModelError as error:
        print(f"turngap: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("turngap: stopped; run it again to go on", file=sys.stderr)
        return 130


def show_list(cache: Path | None, console: Console) -> None:
    """Print the catalogue as a table, or one line a model where nobody looks."""
    here = set(store.present(cache))
    rows = [
        (
            model.name,
            model.purpose,
            f"{model.packages.size / 1e6:,.0f} MB",
            model.licence,
            ", ".join(str(package) for package in model.packages.packages()),
            ", ".join(dict.fromkeys(str(file.origin) for file in model.hub.files)) if model.hub is not None else "-",
            "yes" if model.name in here else "no",
        )
        for model in CATALOGUE
    ]
    if not console.is_terminal:
        for row in rows:
            print("\t".join(row))
        return
    table = Table("model", "for", "size", "licence", "packages", "hub", "here", title=str(store.cache_folder(cache)))
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _pull(arguments: argparse.Namespace) -> int:
    console = Console(stderr=True)
    if console.is_terminal:
        with RichProgress(console) as progress:
            store.pull(arguments.names, arguments.cache, source=arguments.source, progress=progress)
    else:
        store.pull(arguments.names, arguments.cache, source=arguments.source, progress=Lines())
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    names = arguments.names or store.present(arguments.cache)
    if not names:
        print("no models are here; run: turngap models pull")
    failed = False
    for name in names:
        try:
            store.verify([name], arguments.cache)
        except ModelError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"{name}: intact")
    return 1 if failed else 0


class Lines:
    """One plain line for each step, for logs and pipes."""

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def begin(self, label: str, total: int) -> None:
        self.say(f"fetching {label} ({total / 1e6:,.1f} MB)")

    def reach(self, done: int) -> None: ...

    def end(self) -> None: ...


class RichProgress:
    """Bars on a terminal; use it as a context manager."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bars = Bars(*columns, console=console, transient=True)
        self._task: TaskID | None = None
        self._total = 0

    def __enter__(self) -> "RichProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, line: str) -> None:
        self._bars.console.print(line, highlight=False, markup=False)

    def begin(self, label: str, total: int) -> None:
        self._total = total
        self._task = self._bars.add_task(label, total=total)

    def reach(self, done: int) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=min(done, self._total))

    def end(self) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None
