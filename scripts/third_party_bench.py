"""Hold a running server against somebody else's measure: the harness ``voicebench``, over its websocket adapter.

    python3 scripts/third_party_bench.py --from MANIFEST                  what to keep goes to runs/third-party
    python3 scripts/third_party_bench.py --from MANIFEST --barge-in 300   other options are those of turngap serve
    python3 scripts/third_party_bench.py --prepare                        only make the harness's environment

Plays human recordings (scripts/make_scenario.py) into ``turngap serve`` in real time. Everything in the server is what
it is by default, except the words of its replies: they come from a script, since a reply that is over before it is
interrupted shows nothing. The harness lives in an environment of its own, made once, and is no dependency of turngap.

Ends with 1 unless every turn passed and the harness's limits held. A reply counts only if the agent heard words before
it and let the user end, and a turn only if it was played when it should have been; the harness itself asks for neither.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import environment

ROOT = environment.ROOT
VERSION = "0.2.0"
HARNESS = f"voicebench=={VERSION}"
VENV = ROOT / ".cache" / f"voicebench-{VERSION}"
STAMP = "harness-stamp"

REPLIES = (
    "Let me think about that for a moment. There are a few things that I could tell you, one after the other.",
    "I am glad that you ask, because many people do. The short answer is that it depends on the day.",
    "That can be done, and I will begin with it now. It takes a while, so let me tell you what happens.",
)
"""Some five seconds of speech each: long enough to be interrupted late, and to be still heard well after a noise."""
SCRIPT = "scripted?reply=" + "|".join(REPLIES) + "&prefill_ms=60&token_ms=15"


def prepare() -> Path:
    """The harness's command; its environment is made where it is missing. Raises EnvironmentProblem."""
    with environment.alone(VENV):
        if harness() is None:
            environment.perform([environment.base_python(), "-m", "venv", "--clear", str(VENV)], f"Making {VENV}")
            pip = [str(environment.python_of(VENV)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            environment.perform([*pip, "-c", str(environment.CONSTRAINTS), HARNESS], f"Installing {HARNESS}")
            (VENV / STAMP).write_text(HARNESS)
    return environment.python_of(VENV)


def harness() -> Path | None:
    """The interpreter that has the harness, or None where it was not made yet."""
    python = environment.python_of(VENV)
    return python if (VENV / STAMP).is_file() and python.exists() else None


def failing(turn: Mapping[str, Any]) -> str | None:
    """What is not well with a turn of a report, or None."""
    if not turn["passed"]:
        return "; ".join(turn["notes"]) or "did not pass"
    if turn["trigger"] != "anchor":
        return f"was not played when it should have been ({turn['trigger']})"
    if turn["expect"] == "ignore":
        return None
    if turn["talk_over"]:
        return "the agent began before the user had ended"
    # An excuse for words that were not recognised is speech too, and speech is all that the harness asks for.
    return None if turn["transcript"] else "no words were heard"


def failings(report: Mapping[str, Any]) -> Iterator[str]:
    """What is not well in a report. The harness itself fails a run by its limits only, not by its turns."""
    for turn in (turn for session in report["sessions"] for turn in session["turns"]):
        if (why := failing(turn)) is not None:
            yield f"{turn['id']}: {why}"
    for limit in report["assertions"]:
        if not limit["passed"]:
            yield f"{limit['key']}: {limit['actual']} against {limit['limit']}"


async def play(python: Path, scenario: Path, out: Path, serve: Sequence[str]) -> int:
    """Start a server, let the harness talk to it; the harness's status."""
    from turngap.budget.clock import monotonic
    from turngap.voice.client.own_server import running

    async with running([f"--llm={SCRIPT}", *serve], clock=monotonic, waiting=lambda waited_s: None) as (url, health):
        (out / "server.json").write_text(json.dumps(health, indent=2) + "\n", encoding="utf-8")
        command = [str(python), "-m", "voicebench", "run", str(scenario), "--url", url, "--out", str(out)]
        return await (await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL)).wait()


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="third_party_bench.py",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # what is not ours is the server's
    )
    parser.add_argument("--prepare", action="store_true", help="make the harness's environment, and no more")
    parser.add_argument("--from", dest="manifest", type=Path, metavar="MANIFEST", help="manifest.jsonl of recordings")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "third-party", metavar="DIR", help="what is kept")
    options, further = parser.parse_known_args(words)
    options.serve = further
    if not options.prepare and (options.manifest is None or not options.manifest.is_file()):
        parser.error("give the manifest of the recordings with --from")
    return options


def bench(manifest: Path, out: Path, serve: Sequence[str]) -> list[str]:
    """Run it all and keep the report in ``out``; what is not well. Raises EnvironmentProblem and TurngapError."""
    from make_scenario import build

    report = out / "report.json"
    report.unlink(missing_ok=True)  # an older one must not speak for this run
    status = asyncio.run(play(prepare(), build(out / "scenario", manifest), out, serve))
    if not report.is_file():
        return [f"the harness ended with {status} and left no report"]
    return list(failings(json.loads(report.read_text(encoding="utf-8"))))


def main(options: argparse.Namespace) -> int:
    from turngap.budget.errors import TurngapError

    try:
        if options.prepare:
            prepare()
            return 0
        found = bench(options.manifest, options.out.absolute(), options.serve)
    except environment.EnvironmentProblem as problem:
        sys.exit(f"\n{problem}\n\n{problem.remedy}.")
    except TurngapError as error:
        sys.exit(f"{error}")
    print(*(["", *(f"FAILED  {line}" for line in found)] if found else ["\neverything passed"]), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    chosen = arguments()
    environment.enter()
    try:
        sys.exit(main(chosen))
    except KeyboardInterrupt:
        sys.exit("\nthird_party_bench: interrupted")
