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
import os
import shutil
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


def run(command: Sequence[str], **variables: str) -> int:
    """Run a module of the environment, its output left to the reader; returns the exit status."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        check=False,
    ).returncode


def pytest(tier: str, profile: str, extra: Sequence[str]) -> bool:
    """Run one tier; whether it passed."""
    print(f"\ntest {tier}", flush=True)
    status = run(["pytest", "--quiet", "-m", TIERS[tier], f"--hypothesis-profile={profile}", *extra])
    # A filter of the reader's own may well leave a tier empty; our own expressions must not.
    return status == 0 or (status == NO_TESTS and bool(extra))


def hermetic(profile: str, extra: Sequence[str], record: Path) -> bool:
    """Run the tests that need nothing but the processor, on all of its cores; whether they passed. ``record`` takes the
    coverage of the pure modules, of every process."""
    from purity import PART, pure_files  # only these are traced, which keeps the tests fast

    print("\ntest hermetic", flush=True)
    shutil.rmtree(record, ignore_errors=True)
    record.mkdir(parents=True)
    include = ",".join(str(ROOT / file) for file in pure_files(ROOT))
    where = f"--data-file={record / PART}"
    traced = ["coverage", "run", "--branch", "--parallel-mode", where, f"--include={include}"]
    workers = f"--numprocesses={os.cpu_count() or 1}"
    tests = ["pytest", "--quiet", "-m", TIERS["hermetic"], f"--hypothesis-profile={profile}", workers, *extra]
    # One thread to a worker: more would fight for the cores that the other workers use.
    status = run([*traced, "-m", *tests], OMP_NUM_THREADS="1")
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
    record = ROOT / ".cache" / "coverage"
    if not hermetic(profile, options.pytest, record):
        failed.append("hermetic")
    elif not options.fast and not options.pytest and not coverage(record):
        failed.append("coverage")
    tiers = [] if options.fast else ["socket", "model", *(["soak"] if options.soak else [])]
    for tier in tiers:
        if tier == "model" and run(["turngap.voice.cli", "models", "pull"]):
            failed.append("models pull")  # and go on: the tests say which model each of them lacks
        if not pytest(tier, profile, options.pytest):
            failed.append(tier)
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
