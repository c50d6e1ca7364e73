"""The HTML report holds what it shows, and no text of a turn gets out of its place."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from example_budget import EXAMPLE

from turngap.budget.gate.compare import compare
from turngap.budget.report.page import page
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.run import summarise
from turngap.voice.cli import main

Record = Callable[..., TurnRecord]
CONFIG = {
    "date": "today",
    "llm": {"spec": "local", "threads": 1},
    "budget": {"allowances": {"asr": 80}},
    "echo": "none",
}
LAYERS = {"layers": {"draft": {"started": 2, "hit": 1, "missed": 1, "won_ms": 120.0}, "prefix": {"started": 1}}}


def shown(html: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(html.partition("<<")[2].partition(">>")[0])
    return found


def a_page(run: dict[str, Any], **more: Any) -> dict[str, Any]:
    return shown(page("<</*RUN*/>>", run, **more))


def test_every_turn_is_there_with_its_trouble(record: Record) -> None:
    turns = [
        record(name="well", speculation=LAYERS),
        record(name="cut", cut_in=True),
        record(name="silent", answered=False),
        record(name="unheard", heard_gap_ms=None, reported_gap_ms=None),
        record(name="late", took={"asr": 500}, culprit="asr"),
    ]
    found = a_page(summarise(turns, budget=EXAMPLE, config=CONFIG), sounds=["data:audio/flac;base64,AA=="])
    assert [turn["o"] for turn in found["turns"]] == ["", "cut in", "not answered", "not heard", ""]
    assert [turn.get("p") for turn in found["turns"]] == ["data:audio/flac;base64,AA==", None, None, None, None]
    assert found["stages"][found["turns"][4]["c"]] == "asr"
    assert found["layers"] == [["draft", "2", "1", "1", "0", "120"], ["prefix", "1", "0", "0", "0", "–"]]
    assert ["llm", "spec local, threads 1"] in found["environment"]
    assert ["budget.allowances", "asr 80"] in found["environment"]
    assert (found["comparison"], found["base_gaps"]) == (None, None)


def test_a_comparison_is_shown_in_words(record: Record) -> None:
    base, run = (
        summarise([record(name=f"{n}", heard_gap_ms=gap) for n in range(20)], budget=EXAMPLE, config={})
        for gap in (300.0, 600.0)
    )
    for ours, theirs, kind in ((run, base, "bad"), (base, run, "good"), (run, run, "")):
        found = a_page(ours, base=theirs, comparison=compare(ours, theirs))
        assert found["comparison"]["kind"] == kind
    assert len(found["base_gaps"]) == 20


def test_text_cannot_end_the_element_it_stands_in(record: Record) -> None:
    run = summarise([record(transcript="</script><b>")], budget=EXAMPLE, config={})
    html = page("<</*RUN*/>>", run)
    assert "</script>" not in html
    assert shown(html)["turns"][0]["u"] == "</script><b>"


def test_a_run_without_turns_has_a_page() -> None:
    assert a_page(summarise([], budget=EXAMPLE, config={}))["turns"] == []


def test_the_command_writes_a_page_that_asks_the_network_for_nothing(record: Record, tmp_path: Path) -> None:
    run, out = tmp_path / "run.json", tmp_path / "out.html"
    run.write_text(json.dumps(summarise([record()], budget=EXAMPLE, config={})))
    assert main(["report", str(run), "--against", str(run), "--out", str(out)]) == 0
    template = resources.files("turngap.budget.report").joinpath("page.html").read_text("utf-8")
    assert "default-src 'none'" in template
    assert "http" not in out.read_text("utf-8").replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    with pytest.raises(SystemExit):
        main(["report"])
