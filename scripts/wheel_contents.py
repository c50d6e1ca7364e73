"""What a user installs: builds the wheel, compares it with the source, and imports from a fresh installation.

The build runs on a copy of the source, so that it leaves nothing behind and no earlier build leaks into it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

HEAVY = ("torch", "transformers", "onnxruntime", "onnx", "ctranslate2", "faster_whisper", "piper", "websockets", "soxr")
"""What the pure core must not import, however indirectly: it would cost everybody seconds at the start."""

LIGHT = ("turngap.voice.turn", "turngap.budget.marks", "turngap.llm.spec")

PROBE = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2].split():
    where = importlib.import_module(name).__file__
    if not where.startswith(sys.argv[1]):
        print(f"{name} was imported from {where}, not from the wheel")
for name in sys.argv[3].split():
    if name in sys.modules:
        print(f"importing {sys.argv[2]} imports {name}")
"""


def copy_of(root: Path, packages: Sequence[str], folder: Path) -> None:
    """The files that a build needs, and no others."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, folder / name)
    for package in packages:
        shutil.copytree(root / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))


def built(source: Path) -> Path:
    """The wheel built from ``source``. Raises CalledProcessError, with what the build said as its output."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"]
    subprocess.run(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    (wheel,) = (source / "dist").iterdir()
    return wheel


def differences(source: Path, packages: Sequence[str], wheel: Path) -> list[str]:
    """What the wheel lacks of the source, and what it holds beyond that."""
    expected = {
        f"turngap/{path.relative_to(source).as_posix()}"
        for package in packages
        for path in (source / package).rglob("*")
        if path.is_file()
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    found = [f"missing from the wheel: {name} (see tool.setuptools in pyproject.toml)" for name in expected - names]
    found += [f"in the wheel, but no part of the packages: {name}" for name in names - metadata - expected]
    if not any(name.endswith("/LICENSE") for name in metadata):
        found.append("missing from the wheel: the licence")
    return sorted(found)


def imports(wheel: Path, folder: Path) -> list[str]:
    """What a fresh installation of the wheel says when its light modules are imported."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(folder), str(wheel)], capture_output=True, text=True, check=True)
    command = [sys.executable, "-I", "-c", PROBE, str(folder), " ".join(LIGHT), " ".join(HEAVY)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.splitlines()


def examine(root: Path, packages: Sequence[str]) -> list[str]:
    """Everything that is wrong with the wheel, one line each; nothing is left behind."""
    with tempfile.TemporaryDirectory(prefix="turngap-wheel-") as name:
        source, installed = Path(name, "source"), Path(name, "installed")
        source.mkdir()
        copy_of(root, packages, source)
        try:
            wheel = built(source)
            return differences(source, packages, wheel) + imports(wheel, installed)
        except subprocess.CalledProcessError as error:
            return [f"{error.cmd[2]} failed:", *(error.stdout or error.stderr or "").splitlines()[-20:]]
