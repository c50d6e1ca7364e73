"""``turngap replies``, as it is typed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.budget.errors import ModelError
from turngap.llm.speculation.store import fingerprint
from turngap.voice import replies_cli
from turngap.voice.cli import main
from turngap.voice.models import store
from turngap.voice.settings import Settings

FILE = """
[[reply]]
when = ["a tea with sugar"]
say = "Coming up."

[[reply]]
when = "yes"
after = "Anything else?"
say = "What else?"
"""


class Flat:
    """Finds all texts equally near."""

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.array([0.6, 0.8], np.float32), (len(texts), 1))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "replies.toml"
    path.write_text(FILE, "utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies_cli, "_embedding", Flat)


def test_a_file_is_listed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replies", "list", file]) == 0
    first, second = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert first == ["file", "-", "-", "a tea with sugar", "Coming up.", "0 embedded", "0.0 s"]
    assert second[1] == "Anything else?"


def test_words_are_tried(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replies", "test", file, "I'd like a tea with sugar"]) == 0
    assert capsys.readouterr().out == "Coming up.\nparaphrase of “a tea with sugar”, 1.00\n"
    assert main(["replies", "test", file, "I'd like a tea with sugar", "--no-embeddings"]) == 0
    assert capsys.readouterr().out == "Coming up.\nparaphrase of “a tea with sugar”\n"
    assert main(["replies", "test", file, "a tea without sugar"]) == 1
    assert main(["replies", "test", file, "yeah", "--after", "Okay. Anything else?"]) == 0


def test_a_refusal_is_explained(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replies", "explain", file, "a tea without sugar"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "1.00\trefused, negation: only one of them denies sugar\ta tea with sugar\tComing up." in lines
    assert main(["replies", "explain", file, "a tea with sugar", "--no-embeddings"]) == 0
    exact, other = capsys.readouterr().out.splitlines()
    assert exact == "1.00\texact\ta tea with sugar\tComing up."
    assert other.startswith("-\trefused, state: only after “anything else”")


def test_a_store_is_built_for_the_settings_and_read_again(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "store"
    assert main(["replies", "build", file, "--to", str(folder), "--system", "Be brief.", "--voice", "tone"]) == 0
    mark = fingerprint(system="Be brief.", model=Settings().llm, voice="tone")
    assert capsys.readouterr().out == f"2 replies stored in {folder / mark}\n"
    for place in (folder, folder / mark):
        assert main(["replies", "list", str(place)]) == 0
        listed = capsys.readouterr().out
        assert listed.count("1 embedded\t0.1 s") == 2
    assert main(["replies", "test", str(folder), "a tea with sugar"]) == 0


def test_a_store_can_do_without_embeddings(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replies", "build", file, "--to", str(tmp_path / "store"), "--no-embeddings", "--no-audio"]) == 0
    assert main(["replies", "list", str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out.count("0 embedded") == 2


def test_a_bad_file_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replies", "list", str(tmp_path / "none.toml")]) == 1
    assert capsys.readouterr().err.startswith("turngap: ")


def test_without_the_model_the_words_decide(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()

    def absent(name: str) -> Path:
        raise ModelError(f"the model {name} is not here")

    monkeypatch.setattr(store, "find", absent)
    assert main(["replies", "test", file, "a tea with sugar please"]) == 0
    assert "without embeddings, for the model all-minilm-l6-v2 is not here" in capsys.readouterr().err


@pytest.mark.model("all-minilm-l6-v2")
def test_with_the_model_it_tells_how_near(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    assert main(["replies", "test", file, "I'd like a tea with sugar"]) == 0
    assert capsys.readouterr().out.startswith("Coming up.\nparaphrase of “a tea with sugar”, 0.")


LOG = """\
{"turns": [{"speaker": "agent", "text": "Right?", "state": "asked"}, {"speaker": "user", "text": "yes"},\
 {"speaker": "agent", "text": "Soon."}]}
{"turns": [{"speaker": "user", "text": "a tea", "slots": {"drink": "tea"}}, {"speaker": "agent", "text": "Right?"}]}
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(LOG * 3, "utf-8")
    return path


def test_what_a_log_shows_is_written_to_be_read_over(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "learned.toml"
    assert main(["replies", "build", "--from-log", str(log), "--write", str(out)]) == 0
    assert "6 conversations, 6 answered turns: 3 replies, 1 forms learned" in capsys.readouterr().out
    assert 'say = ["Soon."]' in out.read_text("utf-8")
    assert '"drink" = ["tea"]' in out.read_text("utf-8")
    assert main(["replies", "test", str(out), "yes", "--after", "asked", "--no-embeddings"]) == 0
    assert capsys.readouterr().out.startswith("Soon.")


def test_what_a_log_shows_is_stored(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    assert main(["replies", "build", "--from-log", str(log), "--to", str(kept), "--no-embeddings"]) == 0
    assert "--write puts them into a file" in capsys.readouterr().out
    assert main(["replies", "list", str(kept)]) == 0
    assert all(line.startswith("log\t") for line in capsys.readouterr().out.splitlines())


def test_too_little_evidence_teaches_nothing(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "learned.toml")
    assert main(["replies", "build", "--from-log", str(log), "--write", out, "--dialogues", "4"]) == 0
    assert ": 0 replies, 0 forms learned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "takes a FILE or --from-log"),
        (["--from-log", "LOG", "FILE"], "takes a FILE or --from-log"),
        (["FILE", "--write", "out"], "writes what was learned"),
        (["--from-log", "LOG", "--share", "0"], "out of range"),
        (["--from-log", "LOG", "--write", "."], "cannot be written"),
    ],
)
def test_build_says_what_it_needs(
    file: str, log: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"FILE": file, "LOG": str(log)}
    assert main(["replies", "build", *(places.get(each, each) for each in more)]) == 1
    assert message in capsys.readouterr().err
