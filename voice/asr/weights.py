"""Reads the weights out of a CTranslate2 model file, which CTranslate2 itself does not give away.

The layout, little-endian: format version, name and revision of the specification, then the variables (name, rank,
dimensions, type, size in bytes, content), then aliases (name, name of the variable). Names are counted and end in 0.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ModelError

VERSION: Final = 6
TYPES: Final[dict[int, np.dtype[Any]]] = {
    kind: np.dtype(name) for kind, name in enumerate(("<f4", "<i1", "<i2", "<i4", "<f2"))
}


def under(weights: Mapping[str, NDArray[np.floating]], prefix: str) -> dict[str, NDArray[np.floating]]:
    """The weights whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): values for name, values in weights.items() if name.startswith(prefix)}


def read_weights(path: Path) -> dict[str, NDArray[np.floating]]:
    """The floating point variables, as they are: float16 or float32.

    Raises ModelError where the file is not of this layout, or holds weights that were made smaller for good.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except (OSError, struct.error, KeyError, ValueError) as error:
        raise ModelError(
            f"{path} is not a CTranslate2 model that can be read ({error})",
            remedy="Convert the model with ct2-transformers-converter --quantization float16",
        ) from error


def _read(file: BinaryIO) -> dict[str, NDArray[np.floating]]:
    (version,) = _unpack(file, "I")
    if version != VERSION:
        raise ValueError(f"format version {version} instead of {VERSION}")
    _name(file)
    _unpack(file, "I")
    (count,) = _unpack(file, "I")
    found = {}
    for _ in range(count):
        name = _name(file)
        (rank,) = _unpack(file, "B")
        shape = _unpack(file, f"{rank}I")
        kind, size = _unpack(file, "BI")
        content = file.read(size)
        if not rank:
            continue
        values = np.frombuffer(content, TYPES[kind])
        if values.dtype.kind == "f":
            found[name] = values.reshape(shape)
        elif name.endswith("weight"):
            raise ValueError(f"{name} is {values.dtype}, not floating point")
    return found


def _unpack(file: BinaryIO, layout: str) -> tuple[int, ...]:
    # One field after the other: the file has no padding between them.
    return struct.unpack("<" + layout, file.read(struct.calcsize("<" + layout)))


def _name(file: BinaryIO) -> str:
    (length,) = _unpack(file, "H")
    return file.read(length).rstrip(b"\0").decode()
