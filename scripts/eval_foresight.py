#!/usr/bin/env python3
"""What the local model foresees of real dialogues: how often the user then says it, and what it costs.

    python3 scripts/eval_foresight.py DIALOGUES.json [--dialogues 10] [--llm local] [--show]

DIALOGUES is a list of conversations with ``utterances`` of a ``speaker`` ("user" or "assistant") and a ``text``, as
Taskmaster has them. After each of our turns the next words of the user are foreseen, then compared with the real
ones: the same words but for case and punctuation, or one of them the beginning of the other. Beside it a live reply is
asked for in the middle of the work, to see what that waits for, and that its memory is as it was.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from turngap.budget.clock import MS, Ns, monotonic
from turngap.budget.percentiles import percentile
from turngap.llm.backends import make_backend
from turngap.llm.foresight import Foreseen, Foresight
from turngap.llm.protocol import Conversation, Limits, Message, Role
from turngap.llm.role_reversal import plain
from turngap.llm.thrift import SpeculationBudget
from turngap.voice.models import store

SYSTEM = "You are a friendly voice assistant at a coffee shop. Reply in one short sentence."
EVERY = 40
"""Dialogues are taken so far apart: neighbours have the same scenario."""


class Counting(SpeculationBudget):
    """Allows everything, and adds it up."""

    def __init__(self) -> None:
        super().__init__(tokens=10**9, share=10**9)
        self.total_tokens, self.total_busy = 0, 0

    def spent(self, tokens: int, cpu: Ns, at: Ns) -> None:
        self.total_tokens += tokens
        self.total_busy += cpu


@dataclass(slots=True)
class Tally:
    """What was found over all turns."""

    turns: int = 0
    same: int = 0
    begins: int = 0
    foreseen: int = 0
    tokens: list[int] = field(default_factory=list)
    busy: list[Ns] = field(default_factory=list)
    alone: list[Ns] = field(default_factory=list)
    """Time to the first text of a live reply while nothing else is done."""
    amid: list[Ns] = field(default_factory=list)
    """... and in the middle of foreseeing."""
    prefilled_alike: int = 0
    """Live replies that prefilled as many tokens amid the work as alone."""


def dialogues(path: Path, count: int) -> list[list[Message]]:
    """Every few dialogues that have two turns or more."""
    roles = {"user": Role.USER, "assistant": Role.ASSISTANT}
    long = [one["utterances"] for one in json.loads(path.read_text("utf-8")) if len(one["utterances"]) >= 3]
    step = min(EVERY, max(1, len(long) // count))
    return [[Message(roles[said["speaker"]], said["text"]) for said in talk] for talk in long[::step][:count]]


async def first_text(conversation: Conversation, messages: Sequence[Message]) -> tuple[Ns, int]:
    """How long a live reply takes to its first text, and what it prefilled."""
    start = monotonic()
    async with aclosing(conversation.reply(messages, limits=Limits(max_tokens=2))) as reply:
        await anext(reply, None)
        return monotonic() - start, reply.usage.prefilled_tokens or 0


async def foresee(foresight: Foresight, live: Conversation, history: list[Message], tally: Tally) -> list[Foreseen]:
    """Foresee what comes after ``history``, with a live reply in the middle of it."""
    asked = [*history, Message(Role.USER, "Is it ready?")]
    await live.prepare(history)
    alone, expected = await first_text(live, asked)
    await live.prepare(history)
    found: list[Foreseen] = []

    async def work() -> None:
        async with aclosing(foresight.foresee(history)) as stream:
            async for one in stream:
                found.append(one)
                begun.set()
        begun.set()

    begun = asyncio.Event()
    working = asyncio.ensure_future(work())
    await begun.wait()
    if not working.done():
        amid, prefilled = await first_text(live, asked)
        tally.amid.append(amid)
        tally.alone.append(alone)
        tally.prefilled_alike += prefilled == expected
    await working
    return found


def compare(found: list[Foreseen], real: str, tally: Tally) -> str:
    """Count, and a word for how the real turn compares."""
    said, guesses = plain(real), [plain(one.utterance) for one in found]
    tally.turns += 1
    tally.foreseen += len(found)
    tally.same += said in guesses
    near = any(f"{said} ".startswith(f"{guess} ") or f"{guess} ".startswith(f"{said} ") for guess in guesses)
    tally.begins += near
    return "SAME" if said in guesses else "begins alike" if near else "-"


async def evaluate(options: argparse.Namespace) -> Tally:
    backend, tally = make_backend(options.llm, find_model=store.find, clock=monotonic), Tally()
    await backend.warm()
    for talk in dialogues(options.dialogues_json, options.dialogues):
        live, budget = backend.converse(), Counting()
        foresight, spent = Foresight(backend, monotonic, budget=budget), (0, 0)
        for at in range(1, len(talk)):
            if talk[at].role is not Role.USER or talk[at - 1].role is not Role.ASSISTANT:
                continue
            found = await foresee(foresight, live, [Message(Role.SYSTEM, SYSTEM), *talk[:at]], tally)
            verdict = compare(found, talk[at].content, tally)
            tally.tokens.append(budget.total_tokens - spent[0])
            tally.busy.append(budget.total_busy - spent[1])
            spent = budget.total_tokens, budget.total_busy
            if options.show:
                print(f"\n{talk[at - 1].content}\n  really: {talk[at].content}   [{verdict}]")
                print("\n".join(f"  {one.utterance}  ->  {one.reply}" for one in found), flush=True)
        await foresight.aclose()
        await live.aclose()
    await backend.aclose()
    return tally


def milliseconds(times: list[Ns]) -> str:
    p50, p95 = (percentile(sorted(times), rank) / MS for rank in (50, 95))
    return f"p50 {p50:.0f}, p95 {p95:.0f} ms (n {len(times)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dialogues_json", type=Path, metavar="DIALOGUES.json")
    parser.add_argument("--dialogues", type=int, default=10, metavar="N")
    parser.add_argument("--llm", default="local", metavar="SPEC")
    parser.add_argument("--show", action="store_true", help="print each turn; the texts are the data set's")
    tally = asyncio.run(evaluate(parser.parse_args()))
    print(
        f"\nuser turns {tally.turns}, foreseen {tally.foreseen}; "
        f"said the same {tally.same}, begins alike {tally.begins}"
        f"\na turn's work       {percentile(sorted(tally.tokens), 50):.0f} tokens, {milliseconds(tally.busy)}"
        f"\nlive reply alone    {milliseconds(tally.alone)}"
        f"\nlive reply amid it  {milliseconds(tally.amid)}; "
        f"prefilled as much as alone: {tally.prefilled_alike} of {len(tally.amid)}"
    )


if __name__ == "__main__":
    main()
