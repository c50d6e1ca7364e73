"""Opening the store: the one place where the file is made, brought up to date, and complained about.

The file is in WAL mode: readers never wait for the writer, and what was committed survives a process that is killed at
any moment, for it is in the hands of the system by then. Only a power cut can take the last commits (``synchronous =
NORMAL``), and it leaves a sound file as well; to have them on the disk each time would cost a flush per turn.

Whoever writes holds a lock beside the file, named after its run, for as long as it lives; the system lets go of it
when the process dies, however it dies. So whoever opens the store next knows which runs have no writer any more, and
closes their books: turns that were in flight are *unfinished*.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from turngap.budget.clock import calendar
from turngap.budget.errors import ConfigurationError
from turngap.budget.lock import locked, locked_if_free
from turngap.budget.store.changes import RunEnded
from turngap.budget.store.rows import apply
from turngap.budget.store.schema import APPLICATION, STEPS, version

PATIENCE_MS: Final = 10_000
"""For another writer's transaction, which takes milliseconds unless the disk is in trouble."""


def open_store(path: Path) -> sqlite3.Connection:
    """The store at ``path``, made if it is not there, up to date, with the books of dead runs closed.

    Raises ConfigurationError for a file that is not ours, or newer than this program, or cannot be used.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(path.name + ".lock"), lambda: None):
            database = connect(path)
            try:
                migrate(database, path)
            except BaseException:
                database.close()
                raise
        bury(database, path)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"the store {path} cannot be opened: {error}", remedy="Choose another --store, or --store none"
        ) from error
    return database


def connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=PATIENCE_MS / 1000, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA foreign_keys = ON")
    return database


def migrate(database: sqlite3.Connection, path: Path, steps: tuple[tuple[str, ...], ...] = STEPS) -> None:
    """Take the steps that the file lacks, all of them or none."""
    with transaction(database):
        (found,) = database.execute("PRAGMA user_version").fetchone()
        (owner,) = database.execute("PRAGMA application_id").fetchone()
        tables = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if owner != APPLICATION and tables:
            raise ConfigurationError(f"{path} is a database of something else", remedy="Choose another --store")
        if found > version():
            raise ConfigurationError(
                f"the store {path} was written by a newer turngap (version {found} of the tables, this one knows "
                f"{version()})",
                remedy="Update turngap, or choose another --store",
            )
        for statement in (statement for step in steps[found:] for statement in step):
            database.execute(statement)
        if found < len(steps):
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {len(steps)}")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of the block, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def lifeline(path: Path, run: str) -> Path:
    """What the writer of ``run`` holds locked."""
    return path.with_name(f"{path.name}.{run}.alive")


def bury(database: sqlite3.Connection, path: Path) -> None:
    """Close the books of runs that nobody writes any more."""
    for (run,) in database.execute("SELECT id FROM runs WHERE ended IS NULL").fetchall():
        held = lifeline(path, run)
        with locked_if_free(held) as free:
            if free:
                with transaction(database):
                    apply(database, RunEnded(run=run, at=calendar().isoformat(), ending="killed"))
                held.unlink(missing_ok=True)
