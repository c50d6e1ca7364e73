"""The real catalogue, without fetching any of it, and the command's face."""

import argparse
import re
from pathlib import Path

import pytest
from rich.console import Console

from turngap.budget.errors import ModelError
from turngap.voice.models import cli, store
from turngap.voice.models.catalogue import Hosted, Model, Packaged
from turngap.voice.models.entries import CATALOGUE
from turngap.voice.models.manifest import Manifest
from turngap.voice.models.prepare import PREPARATIONS, needs_local, only


@pytest.mark.parametrize("model", CATALOGUE, ids=lambda model: model.name)
def test_every_entry_is_pinned(model: Model) -> None:
    assert model.purpose
    assert model.licence
    for source in (model.packages, model.hub):
        if source is None:
            continue
        names = [file.name for file in source.files]
        assert len(names) == len(set(names))
        assert source.preparation is None or source.preparation in PREPARATIONS
        for file in source.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert file.size > 0
            assert Path(file.name).name == file.name
            match file.origin:
                case Packaged(parts=parts):
                    assert all(package.version and member for package, member in parts)
                case Hosted() as hosted:
                    assert hosted.repo.count("/") == 1
                    assert hosted.revision


def test_names_are_unique_and_only_recordings_have_no_hub() -> None:
    assert len({model.name for model in CATALOGUE}) == len(CATALOGUE)
    assert [model.name for model in CATALOGUE if model.hub is None] == ["recordings"]


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    return parser.parse_args(["models", *words])


def run(*words: str) -> int:
    arguments = parse(*words)
    code = arguments.run(arguments)
    assert isinstance(code, int)
    return code


def test_list_names_every_model_and_whether_it_is_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--cache", str(tmp_path)) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [model.name for model in CATALOGUE]
    assert {row[-1] for row in rows} == {"no"}


def test_list_is_a_table_on_a_terminal(tmp_path: Path) -> None:
    console = Console(force_terminal=True, width=200)
    with console.capture() as captured:
        cli.show_list(tmp_path, console)
    text = captured.get()
    assert "smollm2-135m-instruct" in text
    assert "Apache-2.0" in text


def test_an_unknown_name_is_an_error_with_the_names_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pull", "whisper-enormous", "--cache", str(tmp_path)) == 1
    assert "Choose from: whisper-base" in capsys.readouterr().err


def test_verify_of_an_empty_cache_says_how_to_fill_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("verify", "--cache", str(tmp_path)) == 0
    assert "turngap models pull" in capsys.readouterr().out
    assert run("verify", "silero-vad", "--cache", str(tmp_path)) == 1
    assert "silero-vad is not here" in capsys.readouterr().err


def test_pull_passes_its_options_on_and_survives_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    def pull(names: list[str], cache: Path | None, *, source: str, progress: object) -> None:
        asked.append((names, cache, source))
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "pull", pull)
    assert run("pull", "silero-vad", "--from", "hub", "--cache", str(tmp_path)) == 130
    assert asked == [(["silero-vad"], tmp_path, "hub")]
    assert "run it again" in capsys.readouterr().err


def test_bars_keep_to_the_announced_size() -> None:
    console = Console(force_terminal=True, width=100)
    with console.capture() as captured, cli.RichProgress(console) as progress:
        progress.reach(5)
        progress.begin("a package", 10)
        progress.reach(25)
        progress.say("a line [with brackets]")
        progress.end()
        progress.end()
    assert "a line [with brackets]" in captured.get()


def test_a_missing_library_says_what_to_install() -> None:
    with pytest.raises(ModelError, match=r"preparing needs nowhere\. Run: pip install"), needs_local("preparing"):
        raise ImportError(name="nowhere")


def test_only_wants_exactly_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds 0 files"):
        only(tmp_path, "*.gguf")


@pytest.mark.model
@pytest.mark.parametrize("model", CATALOGUE, ids=lambda model: model.name)
def test_what_was_pulled_fits_the_catalogue(model: Model) -> None:
    try:
        folder = store.find(model.name)
    except ModelError as error:
        pytest.skip(str(error))
    manifest = Manifest.read(folder)
    assert manifest is not None
    assert manifest.misfits(folder, hashes=False) == []
