#!/usr/bin/env python3
"""The local language model: decode speed beside the memory's, time to first token, and prefill over a conversation.

    python3 scripts/bench_llm.py [--llm local?threads=1] [--json OUT]

Speeds are compared with what this machine reads from memory in the same run, since both vary with who else uses it.
"""

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from turngap.budget.clock import MS, SECOND, monotonic
from turngap.budget.errors import TurngapError
from turngap.llm.backends import make_backend
from turngap.llm.history import History
from turngap.llm.protocol import Backend, Conversation, Limits
from turngap.llm.spec import Spec

SYSTEM = "You are a friendly voice assistant at a coffee shop. Reply in one short sentence."
TURNS = [
    "Can I get a small latte please?",
    "Yes, with oat milk.",
    "And a chocolate muffin.",
    "How much is that?",
    "I'll pay by card.",
    "Thanks, have a nice day.",
]
READ_BYTES = 512 << 20
BYTES_PER_WEIGHT = {"int8": 1, "fp16": 2, "bf16": 2, "fp32": 4}


def read_speed(threads: int, rounds: int = 5) -> float:
    """Bytes a second that ``threads`` read from a buffer far larger than any cache: the best of ``rounds``."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    buffer = torch.ones(READ_BYTES // 8, dtype=torch.int64)
    best = 0.0
    for _ in range(rounds):
        start = monotonic()
        buffer.sum()
        best = max(best, READ_BYTES * SECOND / (monotonic() - start))
    torch.set_num_threads(before)
    return best


async def one_turn(conversation: Conversation, history: History, text: str) -> dict[str, Any]:
    """One reply: what it cost, in milliseconds and tokens. The whole reply goes into the history."""
    reply = conversation.reply(history.messages_with(text), limits=Limits(max_tokens=32))
    start, first, words = monotonic(), 0, ""
    async for delta in reply:
        first = first or delta.at
        words += delta.text
    history.user(text)
    history.assistant(words)
    usage = reply.usage
    decode = sum(span.end - span.start for span in usage.spans if span.what == "decode")
    steps = (usage.completion_tokens or 1) - (usage.finish == "length")
    return {
        "ttft_ms": (first - start) / MS,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "prefilled_tokens": usage.prefilled_tokens,
        "completion_tokens": usage.completion_tokens,
        "decode_tokens_per_s": steps * SECOND / decode if decode else None,
    }


async def measure(backend: Backend) -> list[dict[str, Any]]:
    """A conversation of six turns, each replying to what was said before."""
    conversation, history = backend.converse(), History(SYSTEM)
    turns = [await one_turn(conversation, history, text) for text in TURNS]
    await conversation.aclose()
    return turns


async def bench(choice: str, find_model: Callable[[str], Path]) -> dict[str, Any]:
    spec = Spec.parse(choice)
    ceilings = {threads: read_speed(threads) for threads in (1, 2)}
    backend = make_backend(spec, find_model=find_model, clock=monotonic)
    start = monotonic()
    await backend.warm()
    loaded = monotonic() - start
    cold, warm = await measure(backend), await measure(backend)
    after = {threads: read_speed(threads) for threads in (1, 2)}
    description = backend.describe()
    await backend.aclose()
    speeds = [turn["decode_tokens_per_s"] for turn in cold + warm if turn["decode_tokens_per_s"]]
    result: dict[str, Any] = {
        "llm": str(spec),
        "config": description,
        "load_ms": loaded / MS,
        "read_bytes_per_s": {threads: max(ceilings[threads], after[threads]) for threads in (1, 2)},
        "decode_tokens_per_s": {"p50": statistics.median(speeds), "max": max(speeds), "n": len(speeds)},
        "first_conversation": cold,
        "second_conversation": warm,
    }
    if "weights" in description and description.get("precision") in BYTES_PER_WEIGHT:
        size = int(description["weights"]) * BYTES_PER_WEIGHT[description["precision"]]
        ceiling = result["read_bytes_per_s"][min(2, int(description["threads"]))]
        result["bytes_per_token"] = size
        result["share_of_ceiling"] = result["decode_tokens_per_s"]["p50"] * size / ceiling
    return result


def table(result: dict[str, Any]) -> str:
    """The result for a person."""
    speed, read = result["decode_tokens_per_s"], result["read_bytes_per_s"]
    lines = [
        f"{result['llm']}  {', '.join(f'{key} {value}' for key, value in result['config'].items())}",
        f"load and warm-up  {result['load_ms']:.0f} ms",
        f"memory reads      {read[1] / 1e9:.1f} GB/s with 1 thread, {read[2] / 1e9:.1f} with 2",
        f"decode            {speed['p50']:.0f} tok/s (p50 of {speed['n']} replies, best {speed['max']:.0f})",
    ]
    if "share_of_ceiling" in result:
        lines.append(
            f"                  {result['bytes_per_token'] / 1e6:.0f} MB a token: "
            f"{result['share_of_ceiling']:.0%} of what memory allows"
        )
    lines += ["", "turn  prompt  cached  prefilled  TTFT ms   (again in a second conversation)"]
    for number, (one, two) in enumerate(
        zip(result["first_conversation"], result["second_conversation"], strict=True), 1
    ):
        lines.append(
            f"{number:4}  {one['prompt_tokens']:6}  {one['cached_tokens']:6}  {one['prefilled_tokens']:9}  "
            f"{one['ttft_ms']:7.0f}   {two['prefilled_tokens']:3} prefilled, {two['ttft_ms']:.0f} ms"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--llm", default="local", metavar="SPEC")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    try:
        from turngap.voice.models import store

        result = asyncio.run(bench(options.llm, store.find))
    except (TurngapError, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    print(table(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
