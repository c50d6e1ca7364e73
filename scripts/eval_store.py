"""Whether the store keeps what it promises, and what it costs.

    python scripts/eval_store.py kill --times 100       kill -9 a server in the midst of five conversations, each time
    python scripts/eval_store.py turns --turns 10000    every stored turn adds up: charges and residual to the gap
    python scripts/eval_store.py cost --turns 2000      what a turn costs on the audio path, and the writer's CPU

``kill`` serves with the shipped fakes into one file. A turn counts as finished once the client was told so; each of
them must be there after the kill, and no conversation may have more than one turn that is not.
"""

import argparse
import asyncio
import json
import queue
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from turngap.budget.allowance import DEFAULT
from turngap.budget.clock import MS, SECOND, monotonic, process_cpu
from turngap.budget.errors import TurngapError
from turngap.budget.ledger import Outcome
from turngap.budget.marks import Mark, Span, Stage
from turngap.budget.percentiles import Summary
from turngap.budget.report.reported import reported
from turngap.budget.store.audit import audit
from turngap.budget.store.database import open_store
from turngap.budget.store.reading import runs, turns
from turngap.budget.store.recorder import Recorder
from turngap.voice.book import TurnBook
from turngap.voice.client.line import PATH, dial, health
from turngap.voice.client.own_server import free_port
from turngap.voice.client.player import Call, calling
from turngap.voice.endpointing.protocol import Pause
from turngap.voice.events import DraftId

RATE_HZ = 16_000
SESSIONS = 5
LONGEST_S = 4.0
FAKES = (
    "--llm=scripted?reply=Sure.",
    "--asr=scripted?text=two coffees please",
    "--voice=tone",
    "--endpointing=fixed?vad=energy&hangover=100",
    "--speculation=none",
)
BEEP = np.asarray(0.2 * np.sin(np.arange(RATE_HZ // 5) / 5.0), np.float32)[:, None]
ROOM = np.random.default_rng(0).normal(0, 0.0003, RATE_HZ).astype(np.float32)


async def talk(url: str, calls: list[Call]) -> None:
    """One turn after the other until the line is cut."""
    with suppress(TurngapError, OSError):
        async with dial(url) as line:
            call = Call(line, rate_hz=RATE_HZ, channels=1, clock=monotonic)
            calls.append(call)
            async with calling(call):
                while True:
                    begins_s = call.load(BEEP, quiet=ROOM)
                    await call.speak(since_s=begins_s + len(BEEP) / RATE_HZ, patience_s=2.0)


async def killed(store: Path, after_s: float) -> list[dict[str, Any]]:
    """Serve five conversations, kill the server after so long, and return what its clients were told."""
    port = free_port()
    serve = [sys.executable, "-m", "turngap.voice.cli", "serve", *FAKES, f"--port={port}", f"--store={store}"]
    devnull = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*serve, stdout=devnull, stderr=devnull)
    url = f"ws://127.0.0.1:{port}{PATH}"
    while await health(url) is None:  # noqa: ASYNC110 - another process, which has no event for us
        await asyncio.sleep(0.05)
    calls: list[Call] = []
    talking = [asyncio.create_task(talk(url, calls)) for _ in range(SESSIONS)]
    await asyncio.sleep(after_s)
    process.kill()
    await process.wait()
    await asyncio.wait(talking, timeout=5)
    for task in talking:
        task.cancel()
    return [turn for call in calls for turn in call.turns]


def kill(args: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "turns.db"
        told_in_all = kept_in_all = unfinished = most = 0
        lost: list[int] = []
        for number in range(1, args.times + 1):
            told = asyncio.run(killed(store, chance.uniform(0.0, LONGEST_S)))
            database = open_store(store)  # must open, and closes the books
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            run = runs(database)[0]
            assert run.ending == "killed", run
            found = list(turns(database, run.id))
            epochs = {turn.record.ledger["epoch_ns"] for turn in found if turn.record and turn.record.ledger}
            lost += [turn["turn"] for turn in told if turn["ledger"]["epoch_ns"] not in epochs]
            assert not any(turn.state == "open" for turn in found)
            each = [turn.conversation for turn in found if turn.state == "unfinished"]
            most = max([most, *(each.count(conversation) for conversation in each)])
            assert not audit(found).findings
            told_in_all, kept_in_all = told_in_all + len(told), kept_in_all + run.finished
            unfinished += len(each)
            database.close()
            print(f"{number}: {len(told)} told, {run.finished} kept, {len(each)} unfinished", file=sys.stderr)
    return {
        "kills": args.times,
        "turns_told_to_clients": told_in_all,
        "turns_kept": kept_in_all,
        "told_and_lost": len(lost),
        "unfinished": unfinished,
        "most_unfinished_in_one_conversation": most,
    }


def written(chance: random.Random, turn: int) -> TurnBook:
    """A turn as sessions write them, with chance in every figure: early drafts, stalls, marks beside the path."""
    book, draft = TurnBook(turn=turn, onset=0), DraftId(turn, 1)
    end = chance.randrange(10**12, 10**13)
    paused = end + chance.randrange(20 * MS, 200 * MS)
    spans = [Span(stage=Stage.ENDPOINTING, start=end, end=paused - chance.randrange(MS), what="listening")]
    book.paused(draft, Pause(speech_end=800, endpoint=4000), speech_end_at=end, at=paused, spans=spans)
    heard = paused + chance.randrange(200 * MS)
    passed = Span(stage=Stage.ASR, start=paused, end=chance.randrange(paused, heard + 1))
    book.transcribed(draft, "two coffees please", at=heard, spans=[passed])
    at, cause = chance.choice([heard, paused + MS]), chance.choice([Mark.TRANSCRIPT, None])
    for mark in (Mark.REQUEST, Mark.FIRST_TOKEN, Mark.SPEAKABLE, Mark.FIRST_AUDIO):
        at = max(at, heard if cause is Mark.TRANSCRIPT else 0)
        start, at = at, at + chance.randrange(1, 120 * MS)
        book.ledger.mark(mark, at, revision=1, released_by=cause)
        stage = {Mark.REQUEST: Stage.DISPATCH, Mark.FIRST_TOKEN: Stage.PREFILL, Mark.SPEAKABLE: Stage.DECODE}
        span = Span(stage=stage.get(mark, Stage.TTS), start=start, end=chance.randrange(start, at + 1))
        book.ledger.span(span, revision=1)
        cause = mark
    decided = paused + chance.randrange(400 * MS)
    waited = Span(stage=Stage.ENDPOINTING, start=paused, end=decided, what="hangover")
    book.decided(draft, decided, waited, released_by=Mark.PAUSE)
    leaves = max(at, decided, heard) + chance.randrange(20 * MS)
    book.sent(draft, leaves, Span(stage=Stage.PLAYOUT, start=max(at, decided, heard), end=leaves))
    book.played("Sure, two coffees.", leaves)
    book.close(1, Outcome.ANSWERED)
    return book


def many(args: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "turns.db"
        recorder = Recorder(store, kind="serve", config={}, budget=DEFAULT.to_json())
        for number in range(1, args.turns + 1):
            report = written(chance, number).report(DEFAULT)
            kept: queue.SimpleQueue[bool] = queue.SimpleQueue()
            recorder.turn_ended(1, number, partial(reported, report, name="a turn"), done=kept.put)
            if number % 1000 == 0:
                kept.get()  # no conversation is as fast as this loop
        recorder.close()
        database = open_store(store)
        found = audit(turns(database, recorder.run))
        size = store.stat().st_size
        database.close()
    return {
        "turns": found.turns,
        "with_a_gap": found.gaps,
        "reckoned_again": found.reckoned,
        "wrong": len(found.findings),
        "lost": recorder.lost,
        "bytes_a_turn": round(size / max(1, found.turns)),
    }


def cost(args: argparse.Namespace) -> dict[str, Any]:
    """One turn at a time, as a conversation has them: what the caller waits for, and what is computed."""
    chance = random.Random(args.seed)
    calls_ms: list[float] = []
    until_ms: list[float] = []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        recorder = Recorder(Path(folder) / "turns.db", kind="serve", config={}, budget=DEFAULT.to_json(), words=True)
        reports = [written(chance, number).report(DEFAULT) for number in range(1, args.turns + 1)]
        began, cpu = monotonic(), process_cpu()
        for number, report in enumerate(reports, 1):
            asyncio.run(_one(recorder, number, report, calls_ms, until_ms))
        cpu_ms, wall_ms = (process_cpu() - cpu) / MS, (monotonic() - began) / MS
        recorder.close()
    per_turn = cpu_ms / args.turns
    return {
        "turns": args.turns,
        "caller_waits_ms": Summary.of(calls_ms).to_json("p50", "p99", "max"),
        "committed_after_ms": Summary.of(until_ms).to_json("p50", "p99", "max"),
        "cpu_ms_per_turn": per_turn,
        "cpu_share_at_one_turn_in_4_s": per_turn / 4000,
        "cpu_share_of_16_conversations": 16 * per_turn / 4000,
        "wall_ms": wall_ms,
        "lost": recorder.lost,
    }


async def _one(
    recorder: Recorder, number: int, report: dict[str, Any], calls_ms: list[float], until_ms: list[float]
) -> None:
    loop, kept = asyncio.get_running_loop(), asyncio.Event()

    def done(well: bool) -> None:
        loop.call_soon_threadsafe(kept.set)

    began = monotonic()
    recorder.turn_began(1, number)
    recorder.turn_ended(1, number, partial(reported, report, name="a turn"), done=done)
    calls_ms.append((monotonic() - began) / MS)
    await kept.wait()
    until_ms.append((monotonic() - began) / MS)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kill", "turns", "cost"])
    parser.add_argument("--times", type=int, default=100, help="kills")
    parser.add_argument("--turns", type=int, default=10_000, help="turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the store is made (default: the system's temporary folder)")
    args = parser.parse_args(arguments)
    began = monotonic()
    found = {"kill": kill, "turns": many, "cost": cost}[args.what](args)
    print(json.dumps({**found, "took_s": round((monotonic() - began) / SECOND, 1)}, indent=1))


if __name__ == "__main__":
    main()
