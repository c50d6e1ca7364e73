"""Turns as files for other tools: JSON lines hold everything, CSV and Parquet one flat row for each turn."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final

from turngap.budget.errors import ConfigurationError
from turngap.budget.marks import Stage

FIELDS: Final = (
    "name", "turn", "file", "answered", "cut_in", "outcome", "heard_gap_ms", "reported_gap_ms", "first_content_gap_ms",
    "speech_end_error_ms", "culprit", "residual_ms", "transcript", "reply", "words_wrong", "words_reference",
)  # fmt: skip


def flat(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each turn: its figures, and the charge of each stage; empty where unknown or beside the path."""
    stages = [stage.value for stage in Stage if stage is not Stage.RESIDUAL]
    return [
        {
            "run": run.get("run"),
            **{field: turn.get(field) for field in FIELDS},
            **{f"{stage}_ms": turn["charges_ms"].get(stage) for stage in stages},
        }
        for turn in run["per_turn"]
    ]


def json_lines(run: Mapping[str, Any], out: BinaryIO) -> None:
    """The run without its turns as the first line, then a turn a line."""
    head = {key: value for key, value in run.items() if key != "per_turn"}
    for line in (head, *run["per_turn"]):
        out.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def comma_separated(run: Mapping[str, Any], out: BinaryIO) -> None:
    rows = flat(run)
    text = _Encoded(out)
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["run", *FIELDS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def parquet(run: Mapping[str, Any], out: BinaryIO) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigurationError("Parquet needs pyarrow", remedy="Run: pip install 'turngap[parquet]'") from error
    rows = flat(run)
    columns = pyarrow.schema([(name, _kind(pyarrow, name)) for name in (rows[0] if rows else ("run", *FIELDS))])
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=columns), out)


FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any], BinaryIO], None]]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "parquet": parquet,
}


class _Encoded:
    """What the csv module can write to."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(text.encode())


def _kind(pyarrow: Any, name: str) -> Any:
    """Stated, and not guessed from the first row, which may know little."""
    if name.endswith("_ms"):
        return pyarrow.float64()
    if name in ("answered", "cut_in"):
        return pyarrow.bool_()
    return pyarrow.int64() if name in ("turn", "words_wrong", "words_reference") else pyarrow.string()


def names() -> Sequence[str]:
    return tuple(FORMATS)
