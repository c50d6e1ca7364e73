"""The gate: what is demanded, what chance does, and what a build is told."""

import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from example_budget import EXAMPLE
from rich.console import Console

from turngap.budget.gate.bootstrap import difference, estimate
from turngap.budget.gate.compare import compare, gaps
from turngap.budget.gate.demands import Demands, Finding, judge_run
from turngap.budget.gate.formats import annotations, junit
from turngap.budget.gate.show import findings_table, sentence, show
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.run import summarise
from turngap.voice.cli import main

Record = Callable[..., TurnRecord]
Run = Callable[..., dict[str, object]]
NOTHING = Demands(percentiles_ms={})


@pytest.fixture
def run(record: Record) -> Run:
    """A run whose turn ``clip N`` was heard after the N-th of these gaps; the residual takes what is left."""

    def run(gaps: Sequence[float], *, names: str = "clip", **changed: object) -> dict[str, object]:
        turns = [
            record(
                turn=number, name=f"{names} {number % 400}", **{"heard_gap_ms": gap, "residual_ms": gap / 10, **changed}
            )
            for number, gap in enumerate(gaps)
        ]
        return {**summarise(turns, budget=EXAMPLE, config={}), "run": "r"}

    return run


def noisy(seed: int, n: int = 60, *, slower: float = 1.0) -> list[float]:
    chance = np.random.default_rng(seed)
    own = np.random.default_rng(0).uniform(200, 700, n)  # what each clip takes, whatever the run
    return [float(gap) for gap in own * np.exp(chance.normal(0, 0.1, n)) * slower]


def verdicts(findings: Sequence[Finding]) -> list[bool]:
    return [finding.met for finding in findings]


def test_percentiles_shares_and_cut_ins_are_held_against_their_limits(run: Run) -> None:
    good = run([300.0] * 19 + [600.0])
    demands = Demands(percentiles_ms={50: 300, 95: 299}, within=0.95, max_cut_in_rate=0.0)
    assert verdicts(judge_run(good, demands, None)) == [True, False, True, True]
    worse = run([300.0, 600.0], cut_in=True)
    findings = judge_run(worse, demands, None)
    assert verdicts(findings) == [False, False, False, False]
    assert findings[0].says == "no gap is known"
    assert findings[3].says == "2 of 2 (100.0 %)"


def test_what_measured_nothing_does_not_pass(run: Run) -> None:
    demands = Demands(percentiles_ms={95: 500}, within=0.0, max_cut_in_rate=1.0, no_regression=True, resolve=10)
    empty = run([])
    assert verdicts(judge_run(empty, demands, compare(empty, empty))) == [False] * 5


def test_a_demand_that_is_broken_names_the_stage_and_one_that_few_turns_met_says_so(run: Run) -> None:
    (broken,) = judge_run(run([900.0] * 20, culprit="asr"), Demands(percentiles_ms={95: 500}), None)
    assert broken.says == "900 ms over 20 turns; asr blew 20 of 20 turns over budget"
    (doubtful,) = judge_run(run([100.0] * 5), Demands(percentiles_ms={95: 500}), None)
    assert doubtful.met
    assert doubtful.doubt == "5 turns are too few to tell p95 from the maximum"
    (nobody,) = judge_run(run([900.0] * 20), Demands(percentiles_ms={95: 500}), None)
    assert nobody.says == "900 ms over 20 turns"


def test_the_same_run_twice_is_no_difference_and_ten_per_cent_is_one(run: Run) -> None:
    base = run(noisy(1))
    same, slower, faster = (compare(run(noisy(2, slower=by)), base) for by in (1.0, 1.1, 0.9))
    assert (same.slower, same.faster) == (False, False)
    assert (slower.slower, slower.faster) == (True, False)
    assert (faster.slower, faster.faster) == (False, True)
    assert sentence(same).startswith("no difference")
    assert "slower" in sentence(slower)
    assert "faster" in sentence(faster)
    assert slower.paired
    assert slower.turns == 60


def test_a_comparison_is_the_same_each_time(run: Run) -> None:
    assert compare(run(noisy(2)), run(noisy(1))) == compare(run(noisy(2)), run(noisy(1)))


def test_a_clip_that_was_played_often_counts_once(run: Run) -> None:
    often = run([200.0, 400.0] * 200 + [200.0, 400.0])
    assert compare(often, often).turns == 400


def test_runs_without_a_clip_in_common_are_compared_as_a_whole(run: Run) -> None:
    base = run(noisy(1, 400), names="monday")
    found = compare(run(noisy(2, 400, slower=1.5), names="tuesday"), base)
    assert not found.paired
    assert found.slower
    assert "not paired" in sentence(found)
    assert "residual" in found.stages_ms


def test_a_regression_names_the_stage_that_grew(run: Run) -> None:
    findings = judge_run(
        run(noisy(2, slower=1.3)),
        Demands(percentiles_ms={}, no_regression=True),
        compare(run(noisy(2, slower=1.3)), run(noisy(1))),
    )
    assert verdicts(findings) == [False]
    assert "residual grew by" in findings[0].says


def test_a_comparison_says_what_it_could_not_have_found(run: Run) -> None:
    few = compare(run(noisy(2, 6)), run(noisy(1, 6)))
    found = judge_run(run([]), Demands(percentiles_ms={}, no_regression=True, resolve=10), few)
    assert verdicts(found) == [True, False]
    assert found[0].doubt is not None
    many = compare(run(noisy(2, 300)), run(noisy(1, 300)))
    found = judge_run(run([]), Demands(percentiles_ms={}, no_regression=True, resolve=10), many)
    assert verdicts(found) == [True, True]
    assert found[0].doubt is None


def test_a_regression_without_a_stage_to_blame_blames_none(run: Run) -> None:
    base, worse = run([400.0] * 20, residual_ms=None), run([500.0] * 20, residual_ms=None)
    (finding,) = judge_run(worse, Demands(percentiles_ms={}, no_regression=True), compare(worse, base))
    assert not finding.met
    assert "grew" not in finding.says


def test_an_estimate_needs_two_turns() -> None:
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    assert estimate(one) is None
    assert difference(one, two) is None
    found = estimate(two)
    assert found is not None
    assert found.low <= found.value <= found.high


def test_junit_and_annotations_say_what_failed() -> None:
    findings = [
        Finding(demand="p95 within 500 ms", met=False, says="612 ms\x07\n50 %"),
        Finding(demand="cut-ins", met=True, says="none", doubt="few turns"),
        Finding(demand="no slower", met=True, says="same"),
    ]
    suite = ElementTree.fromstring(junit(findings, name="a & b")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["p95 within 500 ms"]
    assert annotations(findings) == [
        "::error title=turngap::p95 within 500 ms: 612 ms\x07%0A50 %25",
        "::warning title=turngap::cut-ins: few turns",
    ]


def test_people_see_each_demand_and_each_stage(run: Run) -> None:
    console = Console(width=160, record=True, file=StringIO())
    console.print(show(compare(run(noisy(2, slower=1.3)), run(noisy(1)))))
    console.print(show(compare(run([]), run([]))))
    console.print(
        findings_table([Finding(demand="d", met=False, says="s", doubt="but"), Finding(demand="e", met=True, says="s")])
    )
    text = console.export_text()
    assert "residual" in text
    assert "no difference" in text
    assert "FAILED" in text
    assert "too few turns in common" in text


@pytest.fixture
def files(tmp_path: Path, run: Run) -> Callable[..., str]:
    def write(name: str, gaps: Sequence[float]) -> str:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(run(gaps)))
        return str(path)

    return write


def test_the_command_tells_by_its_exit_code(
    files: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, slower = files("base", noisy(1)), files("slower", noisy(2, slower=1.2))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert main(["check", base, "--p95", "900", "--within", "0.1"]) == 0
    assert "::" not in capsys.readouterr().out
    report = tmp_path / "junit.xml"
    asked = ["--against", base, "--no-regression", "--junit", str(report), "--github"]
    assert main(["check", slower, *asked]) == 1
    assert "::error title=turngap::no slower than the base" in capsys.readouterr().out
    assert report.read_text().startswith("<?xml")
    assert main(["check", base, *asked]) == 0
    assert main(["check", str(tmp_path / "missing.json"), "--p95", "1"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--no-regression"],
        ["--resolve", "10"],
        ["--against", "BASE"],
        ["--within", "95"],
        ["--within", "most"],
    ],
)
def test_options_that_make_no_sense_are_told_from_a_run_that_fails(
    words: list[str], files: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = files("run", [300.0])
    with pytest.raises(SystemExit) as left:
        main(["check", run, *(run if word == "BASE" else word for word in words)])
    assert left.value.code == 2


def test_a_turn_whose_gap_nobody_knows_is_not_compared(run: Run) -> None:
    known, unknown = run([300.0, 400.0]), run([300.0], heard_gap_ms=None, reported_gap_ms=None)
    assert set(gaps(known)) == {"clip 0", "clip 1"}
    assert gaps(unknown) == {}
