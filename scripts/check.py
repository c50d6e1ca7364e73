"""What can be told without running the product: lint, types, layering, and what the wheel holds.

    python3 scripts/check.py                everything
    python3 scripts/check.py lint types     these only

Silent about what is well; a step that fails shows the tool's own words. The environment is made first if needed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import environment

ROOT = environment.ROOT
CACHE = ROOT / ".cache"
PACKAGES = ("budget", "llm", "voice")
OURS = (*PACKAGES, "tests", "scripts")


class Outcome(NamedTuple):
    """Whether a step found everything well, and what there is to read if it did not."""

    well: bool
    text: str


def run(command: Sequence[str], *, cwd: Path = ROOT, variables: Mapping[str, str] | None = None) -> Outcome:
    """Run a tool in the environment; what it prints is kept."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Outcome(done.returncode == 0, done.stdout)


def lint() -> Outcome:
    return run(["ruff", "check", "--quiet", "--cache-dir", str(CACHE / "ruff"), *OURS])


def form() -> Outcome:
    return run(["ruff", "format", "--check", "--quiet", "--diff", "--cache-dir", str(CACHE / "ruff"), *OURS])


def link_tree() -> Path:
    """A folder in which the packages lie where they are imported from, for the type checker cannot follow the
    mapping that installs ``voice`` as ``turngap.voice``."""
    tree = CACHE / "typing"
    (tree / "turngap").mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        link = tree / "turngap" / package
        if not link.is_symlink() or link.readlink() != ROOT / package:
            link.unlink(missing_ok=True)
            link.symlink_to(ROOT / package, target_is_directory=True)
    return tree


def types() -> Outcome:
    tree = link_tree()
    command = ["mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(CACHE / "mypy")]
    command += ["--namespace-packages", "--explicit-package-bases", "--no-error-summary"]
    outcome = run(
        [*command, "turngap", *(str(ROOT / name) for name in ("tests", "scripts"))],
        cwd=tree,
        variables={"MYPYPATH": os.pathsep.join((".", str(ROOT / "scripts"), str(ROOT / "tests")))},
    )
    paths = re.compile(rf"^(turngap/|{re.escape(str(ROOT))}/)", re.MULTILINE)  # as the reader knows them
    return outcome._replace(text=paths.sub("", outcome.text))


def layering() -> Outcome:
    return run(["pytest", "-q", "--no-header", "-p", "no:cacheprovider", "tests/test_layering.py"])


def wheel() -> Outcome:
    from wheel_contents import examine  # imports what only the environment has

    findings = examine(ROOT, PACKAGES)
    return Outcome(not findings, "\n".join(findings) + "\n")


STEPS: Mapping[str, Callable[[], Outcome]] = {
    "lint": lint,
    "form": form,
    "types": types,
    "layering": layering,
    "wheel": wheel,
}


def check(names: Collection[str]) -> list[str]:
    """Take these steps, say how each went, and return the names of those that failed."""
    failed = []
    for name, step in STEPS.items():
        if name not in names:
            continue
        began = time.monotonic()
        outcome = step()
        print(f"check {name:<9} {'ok' if outcome.well else 'FAILED':<6} {time.monotonic() - began:5.1f} s", flush=True)
        if not outcome.well:
            failed.append(name)
            print(outcome.text, flush=True)
    return failed


def arguments() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="check.py", description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"one of {', '.join(STEPS)}")
    options = parser.parse_args()
    for step in options.steps:
        if step not in STEPS:
            parser.error(f"there is no step {step}")
    return options


def main(names: Sequence[str]) -> int:
    failed = check(names or STEPS)
    print(f"check: {', '.join(failed)} failed" if failed else "check: everything is well")
    return 1 if failed else 0


if __name__ == "__main__":
    chosen = arguments()
    environment.enter()
    sys.exit(main(chosen.steps))
