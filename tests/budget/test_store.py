"""The store: what was written comes back, whoever else writes, and however the writer ended."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from example_budget import EXAMPLE

from turngap.budget.errors import ConfigurationError
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.run import summarise
from turngap.budget.store import schema
from turngap.budget.store.audit import audit
from turngap.budget.store.changes import Audio, RunBegan, fingerprint
from turngap.budget.store.database import connect, lifeline, migrate, open_store
from turngap.budget.store.place import default_place, place
from turngap.budget.store.reading import audio, budget_of, find_run, load, runs, summary, turns
from turngap.budget.store.recorder import Recorder
from turngap.budget.store.writer import Writer

Record = Callable[..., TurnRecord]
CONFIG = {"llm": "scripted", "date": "today"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "turns.db"


def recorder(path: Path, *, words: bool = False, kind: str = "bench") -> Recorder:
    return Recorder(path, kind=kind, config=CONFIG, budget=EXAMPLE.to_json(), words=words)


def keep(into: Recorder, conversation: int, record: TurnRecord) -> None:
    into.turn_ended(conversation, record.turn, lambda: record)


@pytest.fixture
def store(path: Path) -> Iterator[sqlite3.Connection]:
    database = open_store(path)
    yield database
    database.close()


def test_a_run_comes_back_as_it_was_measured(path: Path, record: Record) -> None:
    records = [record(turn=number, name=f"clip {number}", took={"asr": 60 * number}) for number in (1, 2, 3)]
    writing = recorder(path, words=True)
    for number, each in enumerate(records):
        keep(writing, number, each)
    writing.close()
    found = load(writing.run, str(path))
    expected = summarise(records, budget=EXAMPLE, config=CONFIG)
    assert {**found, "per_turn": None} == {**expected, "per_turn": None, "run": writing.run}
    assert [TurnRecord.from_json(turn) for turn in found["per_turn"]] == [
        TurnRecord.from_json(turn.to_json()) for turn in records
    ]


def test_words_are_kept_only_for_who_asked(path: Path, record: Record, store: sqlite3.Connection) -> None:
    silent, telling = recorder(path), recorder(path, words=True)
    for each in (silent, telling):
        keep(each, 1, record())
        each.close()
    (without,), (with_words,) = (list(turns(store, each.run)) for each in (silent, telling))
    assert without.record is not None
    assert with_words.record is not None
    assert with_words.record.transcript == "a tall latte please"
    assert with_words.record.reply == "Sure, a tall latte."
    assert "latte" not in repr(without)


def test_a_turn_is_open_while_it_lasts_and_then_finished(path: Path, record: Record, store: sqlite3.Connection) -> None:
    writing, committed = recorder(path), Event()
    writing.turn_began(1, 1)
    writing.turn_began(2, 1)
    writing.turn_ended(1, 1, record, done=lambda well: committed.set() if well else None)
    assert committed.wait(10)
    (run,) = runs(store)
    assert (run.finished, run.open, run.unfinished, run.ending) == (1, 1, 0, None)
    writing.close()
    (run,) = runs(store)
    assert (run.finished, run.open, run.unfinished, run.ending) == (1, 0, 1, "stopped")


def test_the_books_of_a_dead_run_are_closed_and_those_of_a_living_one_are_not(path: Path, record: Record) -> None:
    living, dead = recorder(path), recorder(path)
    for each in (living, dead):
        each.turn_began(1, 1)
        keep(each, 1, record())
        each.turn_began(1, 2)
    dead._writer._queue.put(None)  # the thread ends without a word, and the system lets go of its lock
    dead._writer._thread.join()
    dead._writer._held.close()
    dead._writer._database.close()
    committed = Event()
    living.turn_ended(2, 1, record, done=lambda _: committed.set())
    assert committed.wait(10)
    database = open_store(path)
    by_id = {run.id: run for run in runs(database)}
    assert (by_id[dead.run].ending, by_id[dead.run].finished, by_id[dead.run].unfinished) == ("killed", 1, 1)
    assert (by_id[living.run].ending, by_id[living.run].finished, by_id[living.run].open) == (None, 2, 1)
    assert not lifeline(path, dead.run).exists()
    living.close()
    database.close()


def test_writers_do_not_get_in_each_others_way(path: Path, record: Record, store: sqlite3.Connection) -> None:
    writers = [recorder(path) for _ in range(4)]
    for number in range(1, 26):
        for each in writers:
            each.turn_began(1, number)
            keep(each, 1, record(turn=number))
    for each in writers:
        each.close()
        assert each.lost == 0
    assert [run.finished for run in runs(store)] == [25] * 4


def test_a_record_with_a_bug_costs_only_itself(path: Path, record: Record, store: sqlite3.Connection) -> None:
    def broken() -> TurnRecord:
        raise KeyError("turn")

    writing, told = recorder(path), list[bool]()
    keep(writing, 1, record(turn=1))
    writing.turn_ended(1, 2, broken, done=told.append)
    keep(writing, 1, record(turn=3))
    writing.close()
    assert (told, writing.lost) == ([False], 1)
    assert [turn.number for turn in turns(store, writing.run)] == [1, 3]


def test_what_waits_too_long_is_lost_and_nobody_waits_for_it(
    path: Path, record: Record, store: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turngap.budget.store.writer.LONGEST", 3)
    writing, told = recorder(path), list[bool]()
    store.execute("BEGIN IMMEDIATE")  # the disk is somebody else's for now
    for number in range(1, 11):
        writing.turn_ended(1, number, record, done=told.append)
    assert False in told, "who asked is told at once"
    store.execute("ROLLBACK")
    writing.close()
    assert writing.lost == told.count(False)
    assert len(list(turns(store, writing.run))) == told.count(True) == 10 - writing.lost


def test_a_file_of_the_first_version_becomes_one_of_today_with_its_rows(path: Path) -> None:
    path.parent.mkdir()
    old = connect(path)
    migrate(old, path, schema.STEPS[:1])
    old.execute("INSERT INTO runs VALUES ('r', 'serve', 'began', 'ended', 'stopped', '{}', 'fingerprint', '{}')")
    with pytest.raises(sqlite3.OperationalError, match="audio"):
        audio(old, "r")
    old.close()
    new = open_store(path)
    assert new.execute("PRAGMA user_version").fetchone() == (schema.version(),)
    assert [run.id for run in runs(new)] == ["r"]
    assert audio(new, "r") == {}
    new.close()


def test_a_file_of_tomorrow_or_of_somebody_else_is_left_alone(path: Path, tmp_path: Path) -> None:
    open_store(path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigurationError, match="newer turngap"):
        open_store(path)
    foreign, text = tmp_path / "foreign.db", tmp_path / "notes.txt"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE mine (x)")
    text.write_text("not a database, but long enough to be looked at as one " * 10)
    for each in (foreign, text, tmp_path):
        with pytest.raises(ConfigurationError):
            open_store(each)


def test_audio_is_kept_beside_its_turn_and_goes_with_it(path: Path, record: Record, store: sqlite3.Connection) -> None:
    writing = recorder(path)
    writing.turn_ended(1, 1, record, audio=lambda: Audio(type="audio/flac", content=b"fLaC"))
    writing.close()
    assert audio(store, writing.run) == {(1, 1): ("audio/flac", b"fLaC")}
    store.execute("DELETE FROM runs")
    assert store.execute("SELECT count(*) FROM audio").fetchone() == (0,)
    assert store.execute("SELECT count(*) FROM charges").fetchone() == (0,)


def test_runs_are_found_by_the_beginning_of_their_name(path: Path, store: sqlite3.Connection) -> None:
    for name in ("2026-a", "2026-ab", "2027"):
        began = RunBegan(run=name, kind="serve", at=name, config=CONFIG, budget={})
        writer = Writer(path, began)
        writer._queue.put(None)
        writer._thread.join()
        writer._database.close()
        writer._held.close()
    assert find_run(store, "2026-a").id == "2026-a", "a whole name is meant as it is"
    assert find_run(store, "2027").id == find_run(store, "last").id == "2027"
    with pytest.raises(ConfigurationError, match="2 runs"):
        find_run(store, "2026")
    with pytest.raises(ConfigurationError, match="no run"):
        find_run(store, "1999")


def test_a_second_writer_of_one_run_is_our_own_bug(path: Path) -> None:
    writing = recorder(path)
    with pytest.raises(AssertionError):
        Writer(path, RunBegan(run=writing.run, kind="serve", at="", config={}, budget={}))
    writing.close()


def test_the_audit_finds_what_does_not_add_up(path: Path, record: Record, store: sqlite3.Connection) -> None:
    writing = recorder(path)
    for number in range(1, 6):
        keep(writing, 1, record(turn=number))
    keep(writing, 1, TurnRecord(name="nothing was reported", turn=6))
    writing.close()
    sound = audit(turns(store, writing.run))
    assert (sound.turns, sound.gaps, sound.reckoned, sound.findings) == (6, 5, 5, ())
    for column, number in (("ns = ns + 1", 1), ("ns = ns", 2)):
        store.execute(f"UPDATE charges SET {column} WHERE stage = 'asr' AND turn = {number}")
    store.execute("UPDATE turns SET gap_ns = gap_ns + 1 WHERE number = 3")
    store.execute("UPDATE charges SET ns = ns - 5 WHERE stage = 'asr' AND turn = 4")
    store.execute("UPDATE charges SET ns = ns + 5 WHERE stage = 'tts' AND turn = 4")
    store.execute("UPDATE turns SET record = replace(record, 'speech_end', 'nonsense') WHERE number = 5")
    found = audit(turns(store, writing.run)).findings
    assert [finding.partition(":")[0] for finding in found] == ["turn 1.1"] * 2 + ["turn 1.3"] * 2 + [
        "turn 1.4",
        "turn 1.5",
    ]


def test_a_server_run_is_judged_by_its_own_word(path: Path, record: Record, store: sqlite3.Connection) -> None:
    writing = recorder(path, kind="serve")
    keep(writing, 1, record(heard_gap_ms=None))
    writing.close()
    found = summary(store, find_run(store, writing.run))
    assert (found["within_budget"], found["unmeasured"], found["decided_by"]) == (1.0, 0, "reported")


def test_the_place_is_chosen_by_option_then_environment_then_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert place("none") is None
    assert place(str(tmp_path)) == tmp_path
    monkeypatch.setenv("TURNGAP_STORE", "/somewhere/turns.db")
    assert place("") == Path("/somewhere/turns.db")
    monkeypatch.delenv("TURNGAP_STORE")
    assert place(None) == default_place()


def test_a_fingerprint_forgets_what_passes() -> None:
    assert fingerprint({"llm": "a", "date": "1"}) == fingerprint({"date": "2", "llm": "a"}) != fingerprint({"llm": "b"})
    assert len(fingerprint({})) == 12


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "turngap.run/9"}'])
def test_a_file_that_is_no_run_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(content)
    with pytest.raises(ConfigurationError):
        load(str(file))
    with pytest.raises(ConfigurationError, match="no run"):
        load("20261201", str(tmp_path / "none.db"))


def test_a_budget_that_was_not_kept_is_the_default() -> None:
    assert budget_of({}).total == 500_000_000
    assert budget_of(EXAMPLE.to_json()) == EXAMPLE
