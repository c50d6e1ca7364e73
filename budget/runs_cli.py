"""``turngap runs``: what was kept of every run, and what to do with it."""

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from turngap.budget.clock import calendar
from turngap.budget.errors import ConfigurationError
from turngap.budget.gate.compare import compare
from turngap.budget.gate.show import show
from turngap.budget.report.table import table
from turngap.budget.store.audit import audit
from turngap.budget.store.database import open_store, transaction
from turngap.budget.store.export import FORMATS
from turngap.budget.store.place import place
from turngap.budget.store.reading import find_run, load, runs, turns


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("runs", help="list, show, compare and export runs", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for name, says, action in ACTIONS:
        sub = actions.add_parser(name, help=says, description=says)
        sub.add_argument("--store", metavar="PATH", help="the store (default: TURNGAP_STORE, else the user's own)")
        sub.set_defaults(run=action)
        arguments_of(name, sub)


def arguments_of(name: str, sub: argparse.ArgumentParser) -> None:
    run_help = "a run's id or how it begins, 'last', or the path of its JSON"
    if name in ("show", "export"):
        sub.add_argument("run_name", metavar="RUN", help=run_help)
    if name == "diff":
        sub.add_argument("base", metavar="BASE", help=run_help)
        sub.add_argument("run_name", metavar="RUN", help=run_help)
    if name in ("verify", "prune"):
        sub.add_argument("names", nargs="*", metavar="RUN", help="runs of the store")
    if name == "export":
        sub.add_argument("--format", choices=list(FORMATS), default="jsonl", help="default: %(default)s")
        sub.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    if name == "prune":
        sub.add_argument("--older-than", type=float, metavar="DAYS", help="runs that ended so long ago")
        sub.add_argument("--keep", type=int, metavar="N", help="all but the latest N")
        sub.add_argument("--dry-run", action="store_true", help="only say what would go")


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[sqlite3.Connection]:
    """The store that the options name, which must be there."""
    at = place(args.store)
    if at is None or not at.is_file():
        raise ConfigurationError(
            f"there is no store at {at or 'none'}", remedy="Serve or bench something, or see --store"
        )
    database = open_store(at)
    try:
        yield database
    finally:
        database.close()


def list_runs(args: argparse.Namespace) -> int:
    with opened(args) as database:
        found = runs(database)
    console = Console()
    if not console.is_terminal:
        for run in found:
            print("\t".join([run.id, run.kind, run.began, run.ended or "-", run.ending or "-", str(run.finished)]))
        return 0
    grid = Table("run", "kind", "began", "ending", "turns", "unfinished", "configuration", box=None)
    for run in found:
        unfinished = str(run.unfinished + run.open) if run.unfinished + run.open else ""
        ending = run.ending or "running"
        grid.add_row(run.id, run.kind, run.began[:19], ending, str(run.finished), unfinished, run.fingerprint)
    console.print(grid)
    return 0


def show_run(args: argparse.Namespace) -> int:
    Console().print(table(load(args.run_name, args.store)))
    return 0


def diff_runs(args: argparse.Namespace) -> int:
    base, run = load(args.base, args.store), load(args.run_name, args.store)
    console = Console()
    for line in differences(base["config"], run["config"]):
        console.print(Text(f"  {line}", "dim"))
    console.print(show(compare(run, base)))
    return 0


def export_run(args: argparse.Namespace) -> int:
    run = load(args.run_name, args.store)
    if args.out is None:
        FORMATS[args.format](run, sys.stdout.buffer)
        return 0
    try:
        with args.out.open("wb") as out:
            FORMATS[args.format](run, out)
    except OSError as error:
        raise ConfigurationError(f"{args.out} cannot be written: {error.strerror}", remedy="Check --out") from error
    return 0


def verify_runs(args: argparse.Namespace) -> int:
    """1 if any turn does not add up."""
    wrong = 0
    with opened(args) as database:
        chosen = [find_run(database, name) for name in args.names] if args.names else runs(database)
        for run in chosen:
            found = audit(turns(database, run.id))
            wrong += len(found.findings)
            print(
                f"{run.id}: {found.turns} turns, {found.gaps} gaps, {found.reckoned} reckoned again from their ledgers"
            )
            for finding in found.findings:
                print(f"{run.id}: {finding}", file=sys.stderr)
        (sound,) = database.execute("PRAGMA integrity_check").fetchone()
    if sound != "ok":
        print(f"the file is damaged: {sound}", file=sys.stderr)
    return 1 if wrong or sound != "ok" else 0


def prune_runs(args: argparse.Namespace) -> int:
    if not args.names and args.older_than is None and args.keep is None:
        raise ConfigurationError("nothing says which runs may go", remedy="Give RUN, --older-than DAYS or --keep N")
    with opened(args) as database:
        named = [find_run(database, name) for name in args.names] if args.names else runs(database)
        ended = [run for run in named if run.ended is not None]  # what is still written stays
        chosen = ended if args.keep is None else ended[args.keep :]
        if args.older_than is not None:
            until = (calendar() - timedelta(days=args.older_than)).isoformat()
            chosen = [run for run in chosen if (run.ended or "") < until]
        for run in chosen:
            print(f"{'would remove' if args.dry_run else 'removed'} {run.id}, {run.finished} turns")
            if not args.dry_run:
                with transaction(database):
                    database.execute("DELETE FROM runs WHERE id = ?", (run.id,))
        if chosen and not args.dry_run:
            database.execute("VACUUM")
    return 0


def differences(base: Any, run: Any, path: str = "") -> Iterator[str]:
    """What of a configuration is not the same, one line each."""
    if isinstance(base, dict) and isinstance(run, dict):
        for key in dict.fromkeys([*base, *run]):
            yield from differences(base.get(key), run.get(key), f"{path}.{key}" if path else str(key))
    elif base != run:
        yield f"{path}: {base} → {run}"


ACTIONS = (
    ("list", "all runs, the latest first", list_runs),
    ("show", "the figures of a run", show_run),
    ("diff", "what is different between two runs, and whether that is more than chance", diff_runs),
    ("export", "the turns of a run, for other tools", export_run),
    ("verify", "whether all that is stored adds up: charges and residual to the gap, for every turn", verify_runs),
    ("prune", "remove runs", prune_runs),
)
