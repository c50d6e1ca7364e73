"""What a model is made of: its files, pinned by size and SHA-256, and where each of them can be had.

A source is one complete way to a model. Its files come out of packages on an index (``Packaged``) or from a model
hub (``Hosted``); the two may differ in form, as long as the prepared folder serves the same adapter. The pins of the
entries themselves are in :mod:`turngap.voice.models.entries`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from turngap.budget.errors import ModelError

SourceName: TypeAlias = Literal["packages", "hub"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One release on a package index; ``size`` is its download in bytes, for progress bars and the disk check."""

    name: str
    version: str
    size: int
    form: Literal["wheel", "sdist"] = "wheel"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """Members of packages, which joined in this order make up a file."""

    parts: tuple[tuple[Package, str], ...]

    def __str__(self) -> str:
        return " + ".join(dict.fromkeys(str(package) for package, _ in self.parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """A file in a repository of a model hub, at one commit."""

    repo: str
    path: str
    revision: str

    def __str__(self) -> str:
        return self.repo


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file under its final name, and what its bytes must be."""

    name: str
    size: int
    sha256: str
    origin: Packaged | Hosted


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Files that together make the model, once ``preparation`` (if any) has worked on them."""

    files: tuple[File, ...]
    preparation: str | None = None
    prepared_size: int = 0

    @property
    def size(self) -> int:
        """Bytes on disk when all is done."""
        return sum(file.size for file in self.files) + self.prepared_size

    def packages(self) -> tuple[Package, ...]:
        """The packages that must be fetched, each once."""
        found = (part[0] for file in self.files if isinstance(file.origin, Packaged) for part in file.origin.parts)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An entry of the catalogue. Recordings have no hub: they come from packages whatever was asked for."""

    name: str
    purpose: str
    licence: str
    packages: Source
    hub: Source | None = None

    def source(self, wanted: SourceName) -> tuple[SourceName, Source]:
        """The source that a pull from ``wanted`` will use."""
        return ("hub", self.hub) if wanted == "hub" and self.hub is not None else ("packages", self.packages)


def named(name: str, catalogue: Iterable[Model]) -> Model:
    """The entry called ``name``; a ModelError lists the names there are."""
    models = {model.name: model for model in catalogue}
    if name not in models:
        raise ModelError(f"there is no model '{name}'", remedy=f"Choose from: {', '.join(models)}")
    return models[name]
