"""Runs as they are read back: by whoever shows, compares or checks them."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from turngap.budget.allowance import DEFAULT, Budget
from turngap.budget.clock import Ns
from turngap.budget.errors import ConfigurationError
from turngap.budget.ledger import nanoseconds
from turngap.budget.marks import Stage
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.run import SCHEMA, summarise
from turngap.budget.store.database import open_store
from turngap.budget.store.place import place

LAST: Final = "last"
"""The latest run, wherever a run is to be named."""

HEARD: Final = frozenset({"bench"})
"""Kinds of runs in which somebody listened; elsewhere the server's word is all there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as the store lists it."""

    id: str
    kind: str
    began: str
    ended: str | None
    ending: str | None
    fingerprint: str
    finished: int
    unfinished: int
    open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """A turn as it lies in the store; ``record`` is None for one that did not finish."""

    conversation: int
    number: int
    state: str
    gap_ns: Ns | None
    charges_ns: Mapping[str, Ns | None]
    record: TurnRecord | None


def runs(database: sqlite3.Connection) -> list[RunRow]:
    """All runs, the latest first."""
    rows = database.execute(
        """SELECT runs.id, kind, runs.began, runs.ended, ending, fingerprint,
           count(turns.id) FILTER (WHERE state = 'finished'), count(*) FILTER (WHERE state = 'unfinished'),
           count(turns.id) FILTER (WHERE state = 'open')
           FROM runs LEFT JOIN turns ON turns.run = runs.id GROUP BY runs.id ORDER BY runs.began DESC, runs.id DESC"""
    ).fetchall()
    return [RunRow(**dict(zip(RunRow.__slots__, row, strict=True))) for row in rows]


def find_run(database: sqlite3.Connection, name: str) -> RunRow:
    """The run of this id, or the only one that begins so; ``last`` is the latest. Raises ConfigurationError."""
    known = runs(database)
    found = known[:1] if name == LAST else [run for run in known if run.id.startswith(name)]
    exact = [run for run in found if run.id == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    what = f"{len(found)} runs of the store begin with '{name}'" if found else f"there is no run '{name}' in the store"
    raise ConfigurationError(what, remedy="Give more of the id (turngap runs list), or the path of a run's JSON")


def turns(database: sqlite3.Connection, run: str) -> Iterator[StoredTurn]:
    """Every turn of the run, conversation by conversation."""
    rows = database.execute(
        """SELECT turns.id, conversation, number, state, gap_ns, record,
           (SELECT json_group_object(stage, ns) FROM charges WHERE turn = turns.id)
           FROM turns WHERE run = ? ORDER BY conversation, number""",
        (run,),
    )
    for _, conversation, number, state, gap, record, charges in rows:
        yield StoredTurn(
            conversation=conversation,
            number=number,
            state=state,
            gap_ns=gap,
            charges_ns=json.loads(charges),
            record=None if record is None else TurnRecord.from_json(json.loads(record)),
        )


def audio(database: sqlite3.Connection, run: str) -> dict[tuple[int, int], tuple[str, bytes]]:
    """What was kept of what was heard, by conversation and turn: media type and content."""
    rows = database.execute(
        "SELECT conversation, number, type, bytes FROM audio JOIN turns ON turns.id = audio.turn WHERE run = ?", (run,)
    )
    return {(conversation, number): (type_, content) for conversation, number, type_, content in rows}


def summary(database: sqlite3.Connection, run: RunRow) -> dict[str, Any]:
    """The run as the same JSON that ``turngap bench`` writes, of the turns that are finished."""
    config, budget = database.execute("SELECT config, budget FROM runs WHERE id = ?", (run.id,)).fetchone()
    records = [turn.record for turn in turns(database, run.id) if turn.record is not None]
    found = summarise(records, budget=budget_of(json.loads(budget)), config=json.loads(config), heard=run.kind in HEARD)
    return {**found, "run": run.id}


def budget_of(kept: Mapping[str, Any]) -> Budget:
    """A budget from its JSON; the default where nothing was kept."""
    if not kept:
        return DEFAULT
    allowances = {Stage(stage): nanoseconds(ms) for stage, ms in kept["allowances_ms"].items()}
    return Budget(total=nanoseconds(kept["total_ms"]), allowances=allowances)


def load(name: str, store: str | None = None) -> dict[str, Any]:
    """The JSON of the run that ``name`` stands for: the path of such a file, or a run of the store.

    Raises ConfigurationError where it stands for nothing.
    """
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return {"run": path.stem, **_read(path)}
    at = place(store)
    if at is None or not at.is_file():
        raise ConfigurationError(
            f"there is no run '{name}': {at or 'no store'} is not there", remedy="Name a JSON file"
        )
    database = open_store(at)
    try:
        return summary(database, find_run(database, name))
    finally:
        database.close()


def sounds(name: str, store: str | None = None) -> list[tuple[str, bytes] | None]:
    """What was kept of what was heard, for each turn that :func:`load` gives, in that order."""
    at = place(store)
    if Path(name).suffix == ".json" or Path(name).is_file() or at is None or not at.is_file():
        return []
    database = open_store(at)
    try:
        run = find_run(database, name).id
        kept = audio(database, run)
        return [kept.get((turn.conversation, turn.number)) for turn in turns(database, run) if turn.record is not None]
    finally:
        database.close()


def _read(path: Path) -> dict[str, Any]:
    try:
        run = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the run {path} cannot be read: {error}", remedy="Give a run's JSON") from error
    if not isinstance(run, dict) or run.get("schema") != SCHEMA:
        raise ConfigurationError(
            f"{path} is not a run", remedy=f"It should be what turngap bench --json writes, {SCHEMA}"
        )
    return run
