"""The record beside a pulled model: which files make it up, and the hash of each, prepared ones included.

It is written last. A folder without it, or with one that no longer fits the catalogue, is not a model yet.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from turngap.voice.models.catalogue import Model, Source, SourceName
from turngap.voice.models.place import place_text, sha256_of
from turngap.voice.models.prepare import PREPARATIONS

NAME = "turngap-model.json"
_SCHEMA = "turngap.model/1"


@dataclass(frozen=True, slots=True)
class Pin:
    """What the bytes of a file must be."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The files of one pulled model, and how they came to be."""

    source: SourceName
    preparation: str | None
    files: Mapping[str, Pin]

    def write(self, folder: Path) -> None:
        content = {
            "schema": _SCHEMA,
            "source": self.source,
            "preparation": self.preparation,
            "files": {name: asdict(pin) for name, pin in self.files.items()},
        }
        place_text(json.dumps(content, indent=1) + "\n", folder / NAME)

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """The manifest in ``folder``; None where there is none that can be read."""
        try:
            content = json.loads((folder / NAME).read_text())
            if content["schema"] != _SCHEMA or content["source"] not in ("packages", "hub"):
                return None
            files = {name: Pin(pin["size"], pin["sha256"]) for name, pin in content["files"].items()}
            return cls(source=content["source"], preparation=content["preparation"], files=files)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def fits(self, model: Model) -> bool:
        """Whether this is what the catalogue and the preparation would make today."""
        name, source = model.source(self.source)
        return (
            name == self.source
            and self.preparation == stamp(source)
            and all(self.files.get(file.name) == Pin(file.size, file.sha256) for file in source.files)
        )

    def misfits(self, folder: Path, *, hashes: bool) -> list[str]:
        """The files that are missing or changed, by size or (slowly) by hash."""
        return [name for name, pin in self.files.items() if not intact(folder / name, pin, hashes=hashes)]


def stamp(source: Source) -> str | None:
    """What the manifest of a model from ``source`` says of its preparation."""
    return None if source.preparation is None else PREPARATIONS[source.preparation].stamp


def intact(path: Path, pin: Pin, *, hashes: bool) -> bool:
    """Whether the file is there with the size, and if asked the hash, that it should have."""
    try:
        return path.stat().st_size == pin.size and (not hashes or sha256_of(path) == pin.sha256)
    except OSError:
        return False
