"""The environment that the scripts run in: made once in ``.venv``, checked in milliseconds afterwards.

:func:`enter` is the first thing that each script does. It needs nothing but the standard library, and it is
written so that an old Python can still read it, to be told that it is too old.

A stamp in the folder says what was installed: it is written last, and any change of pyproject.toml or of the
constraints makes it stale. A folder that was left unfinished is begun anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "scripts" / "constraints.txt"
EXTRAS = "local,echo,dev"
"""One environment for the demo and the tests: the difference is 3 % of its size."""

OLDEST = (3, 11)
NEWEST_TRIED = (3, 13)
ROOM = 4 * 1000**3
"""Free bytes that a first installation needs: 1.7 GB installed, and pip's downloads and unpacking beside it."""

STAMP = "turngap-stamp"
UNFINISHED = "turngap-unfinished"


class EnvironmentProblem(Exception):
    """Why there is no environment, and what the reader can do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class Symptom(NamedTuple):
    """A cause that pip or venv hides in its output: any of ``signs`` there means ``message``."""

    signs: tuple[str, ...]
    message: str
    remedy: str


SYMPTOMS = (
    Symptom(
        ("ensurepip is not available", "No module named ensurepip", "No module named venv", "No module named 'venv'"),
        "this Python cannot make environments: its venv module is missing",
        "On Debian or Ubuntu: apt-get install python3-venv",
    ),
    Symptom(
        ("No space left on device", "Errno 28", "not enough space on the disk"),
        "the disk is full",
        "Free about 4 GB where .venv and the temporary folder lie, or name other folders with TURNGAP_VENV and TMPDIR",
    ),
    Symptom(
        (
            "Failed to establish a new connection",
            "Temporary failure in name resolution",
            "Name or service not known",
            "Network is unreachable",
            "Connection refused",
            "Read timed out",
            "Cannot connect to proxy",
            "ConnectTimeoutError",
            "CERTIFICATE_VERIFY_FAILED",
        ),
        "the package index could not be reached",
        "Check the network, or name an index that can be reached with PIP_INDEX_URL; what was downloaded is kept",
    ),
    Symptom(
        ("No matching distribution found", "Could not find a version that satisfies"),
        "a pinned package does not exist for this Python or this machine",
        "Try with Python 3.11 to 3.13 on 64-bit Linux or macOS; the package is named above",
    ),
    Symptom(
        ("Permission denied", "Errno 13", "Read-only file system"),
        "the environment's folder cannot be written",
        "Name one that can, with TURNGAP_VENV=/path/to/folder",
    ),
)
"""In this order: a lack of network also makes pip say that no version matches."""


def diagnose(output: str, doing: str) -> EnvironmentProblem:
    """The cause that ``output`` of a failed command tells, or the end of that output where it tells none we know."""
    last_words = "\n".join(output.strip().splitlines()[-12:])
    for symptom in SYMPTOMS:
        if any(sign in output for sign in symptom.signs):
            return EnvironmentProblem(f"{symptom.message}\n\n{last_words}", symptom.remedy)
    return EnvironmentProblem(f"{doing} failed\n\n{last_words}", "The last lines above are the installer's own")


def folder() -> Path:
    """Where the environment lies: ``.venv`` in the project, or what TURNGAP_VENV names."""
    return Path(os.environ.get("TURNGAP_VENV") or ROOT / ".venv").expanduser().absolute()


def python_of(venv: Path) -> Path:
    """The environment's interpreter."""
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def stamp_of(project: bytes, constraints: bytes, root: str) -> str:
    """What tells one installation from another. The root counts, since the installation points back into it."""
    parts = (project, constraints, root.encode(), EXTRAS.encode())
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def wanted_stamp() -> str:
    """The stamp of a finished environment for the project as it is now."""
    return stamp_of((ROOT / "pyproject.toml").read_bytes(), CONSTRAINTS.read_bytes(), str(ROOT))


def is_current(venv: Path) -> bool:
    """Whether ``venv`` is finished and holds what the project asks for."""
    with contextlib.suppress(OSError):
        return (venv / STAMP).read_text() == wanted_stamp() and python_of(venv).exists()
    return False


def too_old(version: tuple[int, ...]) -> EnvironmentProblem | None:
    """The problem with a Python of this version, if there is one."""
    if version[:2] >= OLDEST:
        return None
    return EnvironmentProblem(
        f"this is Python {'.'.join(map(str, version[:3]))}, and turngap needs 3.11 or newer",
        f"Install Python 3.11, 3.12 or 3.13, and run: python3.11 {' '.join(sys.argv)}",
    )


def base_python() -> str:
    """An interpreter that is new enough: this one, or else another on the PATH. Raises EnvironmentProblem."""
    problem = too_old(sys.version_info[:3])
    if problem is None:
        return sys.executable
    for minor in range(NEWEST_TRIED[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        # A version switcher's shim exists for versions that are not there, so ask it.
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    raise problem


def clock(seconds: float) -> str:
    """Elapsed time as a person reads it: ``1:05``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def perform(command: Sequence[str], doing: str) -> None:
    """Run ``command`` quietly, with one line that tells what it does and for how long. Raises EnvironmentProblem."""
    began = time.monotonic()
    live = sys.stderr.isatty()
    if not live:
        print(doing, "...", file=sys.stderr, flush=True)
    # A file and not a pipe: a pipe that nobody reads would stop pip once it is full.
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            while child.poll() is None:
                if live:
                    print(f"\r{doing} {clock(time.monotonic() - began)} ", end="", file=sys.stderr, flush=True)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(0.5)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
            if live:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        if child.returncode:
            output.seek(0)
            raise diagnose(output.read().decode(errors="replace"), doing)
    print(f"{doing}: done in {clock(time.monotonic() - began)}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone(venv: Path) -> Iterator[None]:
    """Hold the folder for this process; a second one waits, and then finds the work done."""
    venv.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":  # has no such lock: there, two first runs at once have to be avoided by hand
        yield
        return
    import fcntl

    # The parent folder itself is locked, which leaves no file behind and ends with the process.
    lock = os.open(venv.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another run that makes the environment ...", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def begin(venv: Path) -> None:
    """An empty environment at ``venv``. Never removes a folder that this module did not make."""
    if venv.exists() and any(venv.iterdir()):
        ours = (venv / UNFINISHED).exists() or (venv / STAMP).exists()
        if not ours:
            raise EnvironmentProblem(
                f"{venv} is not empty, and not an environment that works",
                "Remove it, or name another folder with TURNGAP_VENV",
            )
        shutil.rmtree(venv)
    free = shutil.disk_usage(venv.parent).free
    if free < ROOM:
        raise EnvironmentProblem(
            f"{venv.parent} has {free / 1e9:.1f} GB left, and the environment needs {ROOM / 1e9:.0f} GB",
            "Make room there, or name another folder with TURNGAP_VENV",
        )
    venv.mkdir(exist_ok=True)
    (venv / UNFINISHED).touch()
    perform([base_python(), "-m", "venv", str(venv)], f"Making {venv}")


def works(venv: Path) -> bool:
    """Whether ``venv`` has an interpreter that runs and has pip."""
    if (venv / UNFINISHED).exists() or not python_of(venv).exists():
        return False
    command = [str(python_of(venv)), "-c", "import pip"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def install(venv: Path) -> None:
    """Install the project, in place, with everything that it needs."""
    pip = [str(python_of(venv)), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    pip += ["--constraint", str(CONSTRAINTS)]
    # Half of the installation's CPU time would go into bytecode of modules that nobody imports (52 of 110 s, 2 cores).
    # What is imported is compiled then and kept; see enter().
    pip += ["--no-compile"]
    # setuptools first and no isolated build: that one would take whatever version is newest, and take it each time.
    perform([*pip, "setuptools"], "Installing the build tool")
    perform([*pip, "--no-build-isolation", "--editable", f".[{EXTRAS}]"], "Installing turngap and its packages")


def renew(venv: Path) -> None:
    """Bring ``venv`` to what the project asks for, or leave it marked as unfinished. Raises EnvironmentProblem."""
    stamp, unfinished = venv / STAMP, venv / UNFINISHED
    if not works(venv):
        begin(venv)
    elif stamp.exists():
        stamp.replace(unfinished)  # an environment that we were only pointed to is never marked, so never removed
    try:
        install(venv)
    except EnvironmentProblem:
        # pip gave up by itself and put everything back, so an older environment is still whole.
        if unfinished.exists() and unfinished.stat().st_size:
            unfinished.replace(stamp)
        raise
    stamp.write_text(wanted_stamp())
    unfinished.unlink(missing_ok=True)


def ensure() -> Path:
    """A finished environment; returns its interpreter. Raises EnvironmentProblem."""
    venv = folder()
    if is_current(venv):
        return python_of(venv)
    try:
        with alone(venv):
            if not is_current(venv):
                renew(venv)
    except OSError as error:
        raise diagnose(str(error), f"Making {venv}") from error
    return python_of(venv)


def enter() -> None:
    """Go on inside the environment: returns there, and only there. Ends the program where there can be none."""
    try:
        python = ensure()
    except EnvironmentProblem as problem:
        sys.exit(f"\nNo environment: {problem}\n\n{problem.remedy}.")
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The next run begins anew, with what was downloaded so far.")
    if Path(sys.prefix).resolve() == folder().resolve():
        return
    # Without bytecode on disk every start compiles torch anew: six seconds.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [str(python), *sys.argv]
    if os.name == "nt":  # where exec would return to the prompt at once
        sys.exit(subprocess.run(command, check=False).returncode)
    sys.stdout.flush()
    os.execv(command[0], command)


if __name__ == "__main__":
    enter()
    print(python_of(folder()))
