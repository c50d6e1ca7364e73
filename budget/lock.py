"""A lock between processes, and between threads of one: the kernel frees it when its owner dies."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _take(file: IO[bytes], *, wait: bool) -> None:
        # LK_LOCK itself gives up after ten seconds, with the error that LK_NBLCK gives at once.
        while True:
            try:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    raise
            else:
                return
else:
    import fcntl

    def _take(file: IO[bytes], *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock at ``path``; ``waiting`` is called once if somebody else holds it now.

    The file stays behind: deleting it would let two owners lock two files of one name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:  # closing it frees the lock
        try:
            _take(file, wait=False)
        except OSError:
            waiting()
            _take(file, wait=True)
        yield


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock at ``path`` unless somebody else does; yields whether it is held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            _take(file, wait=False)
        except OSError:
            yield False
        else:
            yield True
