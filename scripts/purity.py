"""The pure modules, as tests/pure_modules.txt lists them, and how well the tests cover each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

LIST = Path("tests", "pure_modules.txt")
PART = "part"
"""What the files in the folder of a coverage record begin with, one for each process."""


def floors(root: Path) -> Mapping[str, float]:
    """Each listed pattern, and the share in percent that its modules have to reach."""
    lines = (root / LIST).read_text("utf-8").splitlines()
    pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {pattern: float(floor) for pattern, floor in pairs}


def pure_files(root: Path) -> Mapping[str, float]:
    """Each pure module's path, relative to ``root``, and its floor."""
    return {
        path.relative_to(root).as_posix(): floor
        for pattern, floor in floors(root).items()
        for path in sorted(root.glob(pattern))
    }


def measured(root: Path, record: Path) -> Mapping[str, tuple[float, list[int]]]:
    """From the folder of a coverage record: each module's share of lines and branches in percent, and the lines never
    run."""
    from coverage import Coverage

    with TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        covered = Coverage(data_file=str(Path(folder, PART)))  # takes files that begin like its own
        covered.combine([str(record)], keep=True)
        covered.json_report(outfile=str(report))
        files = json.loads(report.read_text("utf-8"))["files"]
    return {
        Path(name).resolve().relative_to(root).as_posix() if Path(name).is_absolute() else Path(name).as_posix(): (
            file["summary"]["percent_covered"],
            sorted({*file["missing_lines"], *(line for line, _ in file["missing_branches"])}),
        )
        for name, file in files.items()
    }


def shortfalls(root: Path, record: Path) -> list[str]:
    """What falls short of tests/pure_modules.txt, one line each."""
    found = [f"{LIST}: nothing matches {pattern}" for pattern in floors(root) if not any(root.glob(pattern))]
    shares = measured(root, record)
    for file, floor in pure_files(root).items():
        share, lines = shares.get(file, (0.0, []))
        if share < floor:
            where = ", ".join(map(str, lines)) or "never imported"
            found.append(f"{file}: {share:.1f} % covered, and {floor:g} % promised; look at lines {where}")
    return found
