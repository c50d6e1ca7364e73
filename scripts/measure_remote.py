"""Whether what we measure of a server is what the server did: emulators that are told a pace, and what came of it.

    python3 scripts/measure_remote.py                       every time to first token, every rate
    python3 scripts/measure_remote.py --flavour anthropic --http 2 --repeats 9

For each pace the median over the repeats, and how far it is from what was told, and from what the emulator saw itself
do: on a busy machine it is late. A token is a word here. Exits with 1 where the median of what we measured is off from
what was told by more than 3 % and, for a time, by more than 2 ms.
"""

import argparse
import asyncio
import sys
from statistics import median

from turngap.budget.clock import MS, SECOND, Ns, monotonic
from turngap.llm.backends.remote.backend import RemoteBackend
from turngap.llm.backends.remote.dialects import DIALECTS
from turngap.llm.backends.remote.reply import RemoteReply
from turngap.llm.emulators.pace import Pace
from turngap.llm.emulators.server import Emulator
from turngap.llm.protocol import Limits, Message, Role
from turngap.llm.spec import Spec

TTFTS_MS = (20, 50, 100, 240, 500, 1000)
RATES = (20, 80, 150, 500, 969, 2000, 3000)
ASK = [Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "A latte please")]


async def once(backend: RemoteBackend, server: Emulator) -> tuple[Ns, float, Ns, float]:
    """The time to the first token and the rate after it, and both as the emulator has it."""
    reply = backend.converse().reply(ASK, limits=Limits(max_tokens=4000))
    assert isinstance(reply, RemoteReply)
    ats = [delta.at async for delta in reply]
    tokens = reply.usage.completion_tokens
    first = reply.exchange.first_answer
    assert tokens is not None
    assert first is not None
    asked = server.asked[-1]
    assert asked.first_left is not None
    assert asked.last_left is not None
    done = (tokens - 1) * SECOND / (asked.last_left - asked.first_left)
    return first - reply.exchange.asked, (tokens - 1) * SECOND / (ats[-1] - first), asked.first_left - asked.came, done


async def measure(options: argparse.Namespace) -> bool:
    """Print a line for each pace; whether all were right."""
    well = True
    root = "" if options.flavour in ("anthropic", "ollama") else "/v1"
    async with Emulator(options.flavour, root=root) as server:
        dialect = DIALECTS[options.flavour]
        spec = Spec(options.flavour, "m", {"url": server.url, "http": options.http})
        backend = RemoteBackend(dialect, spec, environment={dialect.key_env: "test-key"}, clock=monotonic)
        await backend.warm()
        for ttft_ms, rate in [(each, 500) for each in TTFTS_MS] + [(100, each) for each in RATES]:
            words = max(20, round(rate * options.seconds))
            server.pace = Pace(text=" ".join(["word"] * words), ttft=ttft_ms * MS, rate=rate)
            runs = [await once(backend, server) for _ in range(options.repeats)]
            ttft, found = median(run[0] for run in runs) / MS, median(run[1] for run in runs)
            late = median(run[0] - run[2] for run in runs) / MS
            drift = median(run[1] / run[3] for run in runs) - 1
            off, wrong = ttft - ttft_ms, abs(found / rate - 1)
            right = abs(off) <= max(2, 0.03 * ttft_ms) and wrong <= 0.03
            well = well and right
            print(
                f"told {ttft_ms:5d} ms {rate:5d} tok/s   found {ttft:8.2f} ms ({off:+.2f}; {late:+.2f} behind it) "
                f"{found:8.1f} tok/s ({100 * (found / rate - 1):+.2f} %; {100 * drift:+.2f} % beside it)   "
                f"n {options.repeats}   {'ok' if right else 'OFF'}",
                flush=True,
            )
        await backend.aclose()
    return well


def arguments() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flavour", default="groq", choices=[name for name in DIALECTS if name != "openai-compatible"])
    parser.add_argument("--http", default="1", choices=["1", "2"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each reply streams")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(measure(arguments())) else 1)
