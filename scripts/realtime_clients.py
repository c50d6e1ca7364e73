"""Environments of the Realtime clients that the server is held against, each of its own under .cache.

    python3 scripts/realtime_clients.py openai pipecat livekit     make these

None of them is a dependency of turngap. CI makes only the first, which takes half a minute; the tests of the others run
where theirs was made.
"""

from __future__ import annotations

import sys
from pathlib import Path

import environment

WANTED = {
    "openai": ("openai[realtime]==3.57.0",),
    "pipecat": ("pipecat-ai[openai]",),
    "livekit": ("livekit-agents", "livekit-plugins-openai"),
}
STAMP = "client-stamp"


def venv(name: str) -> Path:
    """Where the environment of the client lies."""
    return environment.ROOT / ".cache" / "clients" / name


def made(name: str) -> Path | None:
    """The interpreter that has the client, or None where it was not made yet."""
    stamp, python = venv(name) / STAMP, environment.python_of(venv(name))
    current = stamp.is_file() and stamp.read_text() == " ".join(WANTED[name])
    return python if current and python.exists() else None


def make(name: str) -> Path:
    """Its interpreter; made where it is missing. Raises EnvironmentProblem."""
    folder = venv(name)
    with environment.alone(folder):
        if made(name) is None:
            environment.perform([environment.base_python(), "-m", "venv", "--clear", str(folder)], f"Making {folder}")
            pip = [str(environment.python_of(folder)), "-m", "pip", "install", "--quiet", "--no-compile"]
            environment.perform([*pip, "--disable-pip-version-check", *WANTED[name]], f"Installing {name}")
            (folder / STAMP).write_text(" ".join(WANTED[name]))
    return environment.python_of(folder)


if __name__ == "__main__":
    try:
        for each in sys.argv[1:] or ["openai"]:
            print(make(each))
    except environment.EnvironmentProblem as problem:
        sys.exit(f"\n{problem}\n\n{problem.remedy}.")
