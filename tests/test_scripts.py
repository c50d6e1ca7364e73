"""The scripts' own decisions: what they can tell without installing anything."""

import ast
import os
import sys
from importlib import util
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


def script(name: str) -> ModuleType:
    """A script as a module, found where it lies: scripts are no package."""
    spec = util.spec_from_file_location(f"scripts_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


environment = script("environment")


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the environment would lie in; nothing is there yet."""
    monkeypatch.setenv("TURNGAP_VENV", str(tmp_path / "venv"))
    found: Path = environment.folder()
    return found


def furnish(venv: Path, stamp: str) -> None:
    python = environment.python_of(venv)
    python.parent.mkdir(parents=True)
    python.touch()
    (venv / environment.STAMP).write_text(stamp)


def test_the_stamp_changes_with_everything_that_is_installed() -> None:
    stamps = {
        environment.stamp_of(b"project", b"constraints", "/here"),
        environment.stamp_of(b"project 2", b"constraints", "/here"),
        environment.stamp_of(b"project", b"constraints 2", "/here"),
        environment.stamp_of(b"project", b"constraints", "/there"),
        environment.stamp_of(b"projectcon", b"straints", "/here"),
    }
    assert len(stamps) == 5


def test_an_environment_with_the_right_stamp_is_current(venv: Path) -> None:
    furnish(venv, environment.wanted_stamp())
    assert environment.is_current(venv)
    assert environment.ensure() == environment.python_of(venv)


def test_an_environment_of_another_version_is_not_current(venv: Path) -> None:
    furnish(venv, "another")
    assert not environment.is_current(venv)


def test_a_folder_that_is_not_there_is_not_current(venv: Path) -> None:
    assert not environment.is_current(venv)


def test_an_environment_whose_interpreter_is_gone_is_not_current(venv: Path) -> None:
    furnish(venv, environment.wanted_stamp())
    environment.python_of(venv).unlink()
    assert not environment.is_current(venv)


def test_an_environment_that_was_left_unfinished_does_not_work(venv: Path) -> None:
    furnish(venv, "another")
    (venv / environment.UNFINISHED).touch()
    assert not environment.works(venv)


def test_an_unfinished_environment_is_begun_anew(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(environment, "perform", lambda command, doing: commands.append(command))
    furnish(venv, "another")
    (venv / "half-written").touch()
    (venv / environment.UNFINISHED).touch()
    environment.begin(venv)
    assert commands == [[sys.executable, "-m", "venv", str(venv)]]
    assert [path.name for path in venv.iterdir()] == [environment.UNFINISHED]


def test_a_folder_with_somebody_elses_files_is_never_removed(venv: Path) -> None:
    venv.mkdir()
    (venv / "thesis.txt").touch()
    with pytest.raises(environment.EnvironmentProblem, match="not empty") as caught:
        environment.begin(venv)
    assert "TURNGAP_VENV" in caught.value.remedy
    assert (venv / "thesis.txt").exists()


def test_a_disk_without_room_is_told_before_anything_is_written(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "ROOM", 10**18)
    with pytest.raises(environment.EnvironmentProblem, match="GB left") as caught:
        environment.begin(venv)
    assert "Make room" in caught.value.remedy
    assert not venv.exists()


def test_an_installation_that_ends_well_is_stamped(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "perform", lambda command, doing: None)
    environment.renew(venv)
    assert (venv / environment.STAMP).read_text() == environment.wanted_stamp()
    assert not (venv / environment.UNFINISHED).exists()


def test_an_installation_that_is_interrupted_leaves_its_mark(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "perform", lambda command, doing: None)
    monkeypatch.setattr(environment, "install", interrupt)
    with pytest.raises(KeyboardInterrupt):
        environment.renew(venv)
    assert (venv / environment.UNFINISHED).exists()
    assert not (venv / environment.STAMP).exists()


def test_a_renewal_that_pip_gave_up_leaves_the_older_environment(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise environment.EnvironmentProblem("no network", "look")

    furnish(venv, "older")
    monkeypatch.setattr(environment, "works", lambda _: True)
    monkeypatch.setattr(environment, "install", fail)
    with pytest.raises(environment.EnvironmentProblem):
        environment.renew(venv)
    assert (venv / environment.STAMP).read_text() == "older"
    assert not (venv / environment.UNFINISHED).exists()


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 8, 0), (2, 7, 18)])
def test_an_old_python_is_told_which_one_to_take(version: tuple[int, int, int]) -> None:
    problem = environment.too_old(version)
    assert ".".join(map(str, version)) in str(problem)
    assert "python3.11" in problem.remedy


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 13, 2), (4, 0, 0)])
def test_a_new_python_is_no_problem(version: tuple[int, int, int]) -> None:
    assert environment.too_old(version) is None


@pytest.mark.parametrize(
    ("output", "message", "remedy"),
    [
        ("The virtual environment was not created ... ensurepip is not available.", "venv module", "python3-venv"),
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "disk is full", "Free about"),
        (
            "WARNING: Retrying ... NewConnectionError('Failed to establish a new connection: [Errno 101]')\n"
            "ERROR: Could not find a version that satisfies the requirement numpy (from versions: none)",
            "could not be reached",
            "network",
        ),
        ("ERROR: No matching distribution found for torch==2.13.0", "does not exist for this Python", "3.11 to 3.13"),
        ("[Errno 13] Permission denied: '/opt/.venv'", "cannot be written", "TURNGAP_VENV"),
    ],
)
def test_a_known_cause_is_told_with_its_remedy(output: str, message: str, remedy: str) -> None:
    problem = environment.diagnose(output, "Installing")
    assert message in str(problem)
    assert remedy in problem.remedy
    assert output.splitlines()[-1] in str(problem)


def test_an_unknown_cause_is_told_in_its_own_words() -> None:
    problem = environment.diagnose("one\ntwo\nsegmentation fault", "Installing")
    assert str(problem).startswith("Installing failed")
    assert "segmentation fault" in str(problem)


def test_a_command_that_fails_is_diagnosed(capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('No space left on device')"]
    with pytest.raises(environment.EnvironmentProblem, match="disk is full"):
        environment.perform(command, "Trying")
    assert "Trying ..." in capfd.readouterr().err


def test_elapsed_time_reads_as_minutes_and_seconds() -> None:
    assert environment.clock(65.9) == "1:05"


@pytest.mark.skipif(os.name == "nt", reason="has no file locks of this kind")
def test_the_lock_leaves_nothing_behind(venv: Path) -> None:
    with environment.alone(venv):
        pass
    assert list(venv.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["environment", "demo", "test", "check"])
def test_a_script_can_be_read_by_an_old_python_to_be_told_so(name: str) -> None:
    source = (SCRIPTS / f"{name}.py").read_text("utf-8")
    ast.parse(source, feature_version=(3, 8))
    assert "from __future__ import annotations" in source


@pytest.fixture
def scripts_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)


@pytest.mark.usefixtures("scripts_on_path")
def test_the_pure_modules_are_listed_with_their_floors(tmp_path: Path) -> None:
    purity = script("purity")
    for name in ("tests/pure_modules.txt", "budget/marks.py", "budget/account.py", "voice/turn.py", "voice/session.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "tests/pure_modules.txt").write_text("# why\n\nbudget/*.py  100\nvoice/turn.py  99.5\n")
    expected = {"budget/account.py": 100, "budget/marks.py": 100, "voice/turn.py": 99.5}
    assert purity.pure_files(tmp_path) == expected


@pytest.mark.usefixtures("scripts_on_path")
def test_a_wheel_is_compared_with_the_source_both_ways(tmp_path: Path) -> None:
    contents = script("wheel_contents")
    (tmp_path / "voice").mkdir()
    for name in ("__init__.py", "turn.py"):
        (tmp_path / "voice" / name).touch()
    wheel = tmp_path / "turngap.whl"
    with ZipFile(wheel, "w") as archive:
        for name in ("turngap/voice/turn.py", "tests/test_turn.py", "turngap-1.dist-info/METADATA"):
            archive.writestr(name, "")
    assert contents.differences(tmp_path, ["voice"], wheel) == [
        "in the wheel, but no part of the packages: tests/test_turn.py",
        "missing from the wheel: the licence",
        "missing from the wheel: turngap/voice/__init__.py (see tool.setuptools in pyproject.toml)",
    ]


@pytest.mark.usefixtures("scripts_on_path")
def test_what_follows_two_dashes_goes_to_pytest() -> None:
    options = script("test").arguments(["--fast", "--", "-k", "turn", "-x"])
    assert (options.fast, options.soak, options.pytest) == (True, False, ["-k", "turn", "-x"])
