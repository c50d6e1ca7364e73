"""What the third-party harness is given, how its report is read, and the run itself.

The run needs the recordings (``TURNGAP_MANIFEST`` names their manifest.jsonl), the harness's environment
(``scripts/third_party_bench.py --prepare``) and the models; it leaves its report in runs/third-party.
"""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from turngap.budget.errors import ConfigurationError

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def path_to_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts find each other where they lie; they are no package."""
    monkeypatch.syspath_prepend(str(SCRIPTS))


@pytest.fixture
def bench(path_to_scripts: None) -> ModuleType:
    import third_party_bench

    return third_party_bench


@pytest.fixture
def make(path_to_scripts: None) -> ModuleType:
    import make_scenario

    return make_scenario


def well(**changes: Any) -> dict[str, Any]:
    """A turn of a report that is as it should be."""
    turn = {"id": "orders", "expect": "respond", "passed": True, "trigger": "anchor", "talk_over": False}
    return turn | {"transcript": "Brew an iced coffee.", "notes": []} | changes


def read(bench: ModuleType, turn: dict[str, Any], limits: tuple[dict[str, Any], ...] = ()) -> list[str]:
    return list(bench.failings({"sessions": [{"turns": [turn]}], "assertions": limits}))


def test_a_turn_that_went_well_is_not_mentioned(bench: ModuleType) -> None:
    assert read(bench, well()) == []
    assert read(bench, well(expect="ignore", transcript=None)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"passed": False, "notes": ["too late"]}, "orders: too late"),
        ({"passed": False}, "orders: did not pass"),
        ({"trigger": "timeout"}, "orders: was not played when it should have been (timeout)"),
        ({"talk_over": True}, "orders: the agent began before the user had ended"),
        ({"transcript": ""}, "orders: no words were heard"),
        ({"transcript": None}, "orders: no words were heard"),
    ],
)
def test_what_the_harness_lets_pass_is_still_found(bench: ModuleType, changes: dict[str, Any], said: str) -> None:
    assert read(bench, well(**changes)) == [said]


def test_a_limit_that_did_not_hold_is_named(bench: ModuleType) -> None:
    limits = ({"key": "max_wer", "limit": 0.1, "actual": 0.2, "passed": False}, {"key": "other", "passed": True})
    assert read(bench, well(), limits) == ["max_wer: 0.2 against 0.1"]


def test_what_is_not_the_scripts_own_goes_to_the_server(bench: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").touch()
    words = ["--from", str(tmp_path / "manifest.jsonl"), "--barge-in", "300", "--asr=whisper:tiny"]
    assert bench.arguments(words).serve == ["--barge-in", "300", "--asr=whisper:tiny"]


def test_the_scenario_asks_for_everything_an_agent_has_to_tell_apart(make: ModuleType) -> None:
    expectations = [said.expect for said in make.TURNS]
    assert len(make.TURNS) >= 8
    assert all(expectations.count(what) >= 3 for what in ("respond", "stop", "ignore"))
    assert len({said.name for said in make.TURNS}) == len(make.TURNS)
    for said in make.TURNS:
        assert said.expect != "stop" or said.after == "agent_speech_start"  # there must be a reply to interrupt


def test_a_turn_is_cut_where_the_manifest_says_that_the_voice_is(make: ModuleType) -> None:
    said = next(said for said in make.TURNS if said.cut is None)
    row = {"speech_segments_s": [[0.5, 1.0], [1.4, 2.0]], "speech_end_s": 1.9}
    assert make.bounds(row, said) == pytest.approx((0.4, 1.95))
    with pytest.raises(ConfigurationError, match="does not say where the voice"):
        make.bounds({"speech_segments_s": [], "speech_end_s": None}, said)


def test_a_manifest_without_the_recordings_is_refused(make: ModuleType, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text('{"file": "other.wav"}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"has no speech/rhasspy/what_time_is_it\.wav"):
        make.build(tmp_path / "out", manifest)


@pytest.fixture
def manifest() -> Path:
    path = Path(os.environ.get("TURNGAP_MANIFEST", ""))
    if not path.is_file():
        pytest.skip("TURNGAP_MANIFEST does not name the manifest.jsonl of the recordings")
    return path


@pytest.mark.model("whisper-base", "piper-joe", "silero-vad")
def test_the_third_party_harness_passes_every_turn(bench: ModuleType, manifest: Path) -> None:
    if bench.harness() is None:
        pytest.skip("the harness has no environment yet: scripts/third_party_bench.py --prepare")
    assert bench.bench(manifest, bench.ROOT / "runs" / "third-party", []) == []
