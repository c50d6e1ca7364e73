"""Whether a simulated tier keeps the time that it was told to: TTFT and rate, measured as a caller sees them.

    python3 scripts/check_simulator.py [--repeats 5] [--tokens 120]

Every TTFT against every rate; exits with 1 where a median is off by more than 3 % and, for the TTFT, 2 ms.
"""

import argparse
import asyncio
from pathlib import Path
from statistics import median

from turngap.budget.clock import MS, SECOND, monotonic
from turngap.llm.backends import make_backend
from turngap.llm.protocol import Limits, Message, Role

TTFT_MS = (20, 50, 98, 240, 1000)
RATES = (20, 80, 500, 969, 3000)
SHARE, SLACK_MS = 0.03, 2.0


def nowhere(name: str) -> Path:
    raise AssertionError(f"{name} is not needed")


async def one(ttft_ms: float, rate: float, tokens: int) -> tuple[float, float]:
    """TTFT in ms and tokens per second of one reply."""
    words = " ".join(["word"] * tokens)
    backend = make_backend(f"sim?ttft={ttft_ms}ms&rate={rate}&reply={words}", find_model=nowhere, clock=monotonic)
    asked = monotonic()
    said = backend.converse().reply([Message(Role.USER, "Hello")], limits=Limits(max_tokens=tokens))
    seen = [monotonic() async for _ in said]
    assert said.usage.completion_tokens == len(seen) == tokens
    return (seen[0] - asked) / MS, (tokens - 1) / ((seen[-1] - seen[0]) / SECOND)


async def main(repeats: int, tokens: int) -> int:
    worst_ttft, worst_rate, bad = 0.0, 0.0, 0
    for ttft in TTFT_MS:
        for rate in RATES:
            count = min(tokens, max(10, int(rate * 2)))
            found = [await one(ttft, rate, count) for _ in range(repeats)]
            ttfts, rates = median(first for first, _ in found), median(second for _, second in found)
            off_ms, off = ttfts - ttft, rates / rate - 1
            wrong = abs(off_ms) > max(SHARE * ttft, 0) or abs(off_ms) > SLACK_MS or abs(off) > SHARE
            bad += wrong
            worst_ttft, worst_rate = max(worst_ttft, abs(off_ms)), max(worst_rate, abs(off))
            print(f"ttft {ttft:5} ms: {ttfts:8.2f}   rate {rate:5}: {rates:8.1f} ({100 * off:+.2f} %)  {'OFF' * wrong}")
    print(f"worst: ttft {worst_ttft:.2f} ms, rate {100 * worst_rate:.2f} %; {bad} of {len(TTFT_MS) * len(RATES)} off")
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=120)
    arguments = parser.parse_args()
    raise SystemExit(asyncio.run(main(arguments.repeats, arguments.tokens)))
