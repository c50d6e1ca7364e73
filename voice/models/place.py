"""How a file gets under its final name: whole, checked and on the disk, or not at all.

Bytes go to a nameless neighbour in the same folder, are hashed on the way, flushed to the disk, compared with the
pin, and only then renamed, which the file system does in one step. Whoever sees the final name sees all of the file.
"""

import errno
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turngap.budget.errors import ModelError

PART = ".part"
"""Ends the name of a file on its way. One found while nobody pulls is a leftover of a pull that was killed."""

_CHUNK = 1 << 20
FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate what the file system refuses while ``path`` is written into a ModelError with a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise full_disk(path) from error
        if error.errno in _FORBIDDEN:
            raise forbidden(path) from error
        raise ModelError(f"{path} could not be written: {error.strerror or error}") from error


def full_disk(path: Path) -> ModelError:
    return ModelError(
        f"the disk is full: {path} could not be written",
        remedy="Free some space, or choose another folder with --cache or TURNGAP_MODELS, and pull again",
    )


def forbidden(path: Path) -> ModelError:
    return ModelError(
        f"there is no permission to write {path}",
        remedy="Make the folder writable, or choose another one with --cache or TURNGAP_MODELS",
    )


def place(chunks: Iterable[bytes], target: Path, *, size: int, sha256: str, origin: str) -> None:
    """Write ``chunks`` as ``target``; a ModelError says that the bytes are not those that the pin promises."""
    digest = hashlib.sha256()
    count = 0
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        with writing(target), part.open("wb") as out:
            for chunk in chunks:
                out.write(chunk)
                digest.update(chunk)
                count += len(chunk)
            flush(out.fileno())
        if (count, digest.hexdigest()) != (size, sha256):
            raise ModelError(
                f"{target.name} from {origin} is not the file it should be: "
                f"{count:,} bytes with SHA-256 {digest.hexdigest()[:12]}…, not {size:,} bytes with {sha256[:12]}…",
                remedy="Pull again; if it happens again the source has changed, so try the other one (--from)",
            )
        rename(part, target)
    finally:
        part.unlink(missing_ok=True)


def place_text(text: str, target: Path) -> None:
    """Write ``text`` as ``target`` in the same way; it is its own pin."""
    content = text.encode()
    place([content], target, size=len(content), sha256=hashlib.sha256(content).hexdigest(), origin="this program")


def rename(part: Path, target: Path) -> None:
    """Give ``part``, which is flushed, its final name, so that the name too survives a power cut."""
    os.replace(part, target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def flush(descriptor: int) -> None:
    os.fsync(descriptor)


def settle(path: Path) -> None:
    """Flush a file that somebody else wrote."""
    with writing(path), path.open("rb+") as file:
        flush(file.fileno())


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path) -> Iterator[bytes]:
    """The bytes of a file, in pieces."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
