"""Settings come from the command line, then the environment, then the file, then the default."""

import argparse
from pathlib import Path

import pytest

from turngap.budget.errors import ConfigurationError
from turngap.voice.settings import Settings, add_arguments, arguments_of, gather


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


def test_nothing_said_is_the_default() -> None:
    assert gather(parse(), {}) == Settings()


def test_each_source_gives_way_to_the_nearer_one(tmp_path: Path) -> None:
    file = tmp_path / "turngap.toml"
    file.write_text("llm = 'file'\nasr = 'file'\nvoice = 'file'\nport = 1\n")
    environment = {"TURNGAP_CONFIG": str(file), "TURNGAP_LLM": "environment", "TURNGAP_ASR": "environment"}
    settings = gather(parse("--llm", "line"), environment)
    assert (settings.llm, settings.asr, settings.voice, settings.port) == ("line", "environment", "file", 1)


def test_given_settings_can_be_passed_on() -> None:
    args = parse("--llm", "scripted?reply=Hi there", "--budget", "300")
    assert arguments_of(args) == ["--llm=scripted?reply=Hi there", "--budget=300.0"]
    assert gather(parse(*arguments_of(args)), {}) == gather(args, {})


@pytest.mark.parametrize(
    ("content", "says"),
    [("llm = ", "is not TOML"), ("lmm = 'x'", "sets unknown lmm"), ("port = 'x'", "port in")],
)
def test_a_bad_file_is_named(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=says):
        gather(parse("--config", str(file)), {})


def test_a_missing_file_and_a_bad_variable_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        gather(parse("--config", str(tmp_path / "none.toml")), {})
    with pytest.raises(ConfigurationError, match="TURNGAP_PORT is 'x'"):
        gather(parse(), {"TURNGAP_PORT": "x"})
