"""Everything that CI runs, and nothing that it does not.

    python3 scripts/test.py                 check, hermetic tests, socket tests, model tests
    python3 scripts/test.py --fast          check and hermetic tests, fewer examples, for between two thoughts
    python3 scripts/test.py --soak          the long runs as well
    python3 scripts/test.py -- -k turn -x   what follows -- goes to pytest

Makes the environment and pulls the models first where they are missing. A tier that fails does not keep the
next one from running; the last line tells what failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import environment

ROOT = environment.ROOT
NO_TESTS = 5
"""What pytest returns when it found nothing to run."""

TIERS = {
    "hermetic": "not socket and not model and not soak",
    "socket": "socket and not soak and not model",
    "model": "model and not soak",
    "soak": "soak",
}


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="test.py", description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--fast", action="store_true", help="check and hermetic tests only")
    size.add_argument("--soak", action="store_true", help="the long runs as well")
    parser.add_argument("pytest", nargs="*", metavar="-- ...", help="arguments for pytest")
    return parser.parse_args(words)


def run(command: Sequence[str]) -> int:
    """Run a module of the environment, its output left to the reader; returns the exit status."""
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode


def pytest(tier: str, profile: str, extra: Sequence[str], record: Path | None) -> bool:
    """Run one tier; whether it passed. ``record`` takes the coverage of the pure modules."""
    print(f"\ntest {tier}", flush=True)
    command = ["pytest", "--quiet", "-m", TIERS[tier], f"--hypothesis-profile={profile}", *extra]
    if record:
        from purity import pure_files  # only these are traced, which keeps the tests fast

        include = ",".join(str(ROOT / file) for file in pure_files(ROOT))
        command = ["coverage", "run", "--branch", f"--data-file={record}", f"--include={include}", "-m", *command]
    status = run(command)
    # A filter of the reader's own may well leave a tier empty; our own expressions must not.
    return status == 0 or (status == NO_TESTS and bool(extra))


def coverage(record: Path) -> bool:
    """Hold the pure modules to their share; whether all reach it."""
    from purity import shortfalls

    findings = shortfalls(ROOT, record)
    print("\n".join(findings) if findings else "coverage: every pure module is covered as promised", flush=True)
    return not findings


def failures(options: argparse.Namespace) -> list[str]:
    """Run everything that ``options`` ask for, and name what failed."""
    import check

    # The hermetic tests hold the layering test already.
    failed = [f"check {name}" for name in check.check(set(check.STEPS) - {"layering"})]
    profile = "fast" if options.fast else "ci"
    record = environment.ROOT / ".cache" / "coverage"
    record.parent.mkdir(exist_ok=True)
    tiers = ["hermetic"] if options.fast else ["hermetic", "socket", "model", *(["soak"] if options.soak else [])]
    for tier in tiers:
        if tier == "model" and run(["turngap.voice.cli", "models", "pull"]):
            failed.append("models pull")  # and go on: the tests say which model each of them lacks
        if not pytest(tier, profile, options.pytest, None if options.fast or tier != "hermetic" else record):
            failed.append(tier)
    if not options.fast and not options.pytest and not coverage(record):
        failed.append("coverage")
    return failed


def main(options: argparse.Namespace) -> int:
    began = time.monotonic()
    failed = failures(options)
    took = environment.clock(time.monotonic() - began)
    print(f"\ntest: FAILED: {', '.join(failed)} ({took})" if failed else f"\ntest: everything passed in {took}")
    return 1 if failed else 0


if __name__ == "__main__":
    chosen = arguments()
    environment.enter()
    try:
        sys.exit(main(chosen))
    except KeyboardInterrupt:
        sys.exit("\ntest: interrupted")
