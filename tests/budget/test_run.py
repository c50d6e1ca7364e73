"""The summary of a run counts every turn somewhere, and none twice."""

import json
from collections.abc import Callable

import pytest
from example_budget import EXAMPLE

from turngap.budget.account import Account
from turngap.budget.allowance import Budget
from turngap.budget.clock import MS
from turngap.budget.errors import ConfigurationError
from turngap.budget.ledger import Outcome, TurnLedger
from turngap.budget.marks import Mark, Stage
from turngap.budget.report.record import TurnRecord, reckon
from turngap.budget.report.reported import reported
from turngap.budget.report.run import SCHEMA, summarise, word_error_rate

Record = Callable[..., TurnRecord]


def run(*turns: TurnRecord, budget: Budget = EXAMPLE) -> dict[str, object]:
    summary: dict[str, object] = json.loads(json.dumps(summarise(turns, budget=budget, config={"asr": "whisper"})))
    return summary


def test_a_run_has_the_keys_that_other_tools_read(record: Record) -> None:
    summary = run(record(), record(took={"transcript": 312}))
    percentiles = {"p50", "p90", "p95", "p99", "max", "n", "unknown"}
    assert summary["schema"] == SCHEMA == "turngap.run/1"
    assert list(summary) == [
        *("schema", "turns", "answered", "cut_ins", "unmeasured"),
        *("decided_by", "budget_ms", "allowances_ms", "within_budget"),
        *("heard_gap_ms", "first_content_gap_ms", "reported_gap_ms", "disagreement_ms", "speech_end_error_ms"),
        *("stages_ms", "blame", "unexplained", "residual_ms", "wer", "config", "per_turn"),
    ]
    for key in ("heard_gap_ms", "first_content_gap_ms", "reported_gap_ms"):
        assert set(summary[key]) == percentiles  # type: ignore[call-overload]
    assert summary["disagreement_ms"] == {"p50": 4.0, "p95": 4.0, "max": 4.0, "n": 2, "unknown": 0}
    assert summary["speech_end_error_ms"] == {"bias": 6.0, "p50": 6.0, "p95": 6.0, "n": 2, "unknown": 0}
    assert summary["residual_ms"] == {"p50": 0.0, "p95": 0.0, "max": 0.0, "n": 2, "unknown": 0}
    assert summary["config"] == {"asr": "whisper"}
    assert (summary["turns"], summary["answered"], summary["budget_ms"]) == (2, 2, 500.0)


def test_blame_goes_to_the_stage_that_blew_it(record: Record) -> None:
    summary = run(record(), record(took={"transcript": 312}), record(took={"transcript": 400}))
    assert summary["blame"] == {**dict.fromkeys([stage.value for stage in Stage], 0), "asr": 2}
    assert summary["within_budget"] == pytest.approx(1 / 3)


def test_a_turn_over_by_the_heard_gap_alone_is_blamed_on_no_stage(record: Record) -> None:
    summary = run(record(heard_gap_ms=501.0))
    assert (summary["unexplained"], summary["within_budget"]) == (1, 0.0)


def test_a_turn_over_by_the_reported_gap_alone_is_not_blown(record: Record) -> None:
    summary = run(record(took={"transcript": 160}, heard_gap_ms=499.0))
    assert sum(summary["blame"].values()) == 0  # type: ignore[attr-defined]
    assert summary["within_budget"] == 1.0


def test_a_cut_in_counts_as_a_turn_and_in_no_percentile(record: Record) -> None:
    summary = run(record(), record(cut_in=True, heard_gap_ms=-900.0, speech_end_error_ms=-2000.0))
    assert (summary["turns"], summary["cut_ins"], summary["unmeasured"]) == (2, 1, 0)
    assert summary["within_budget"] == 0.5
    assert summary["heard_gap_ms"]["n"] == summary["speech_end_error_ms"]["n"] == 1  # type: ignore[index]


def test_what_could_not_be_heard_is_unmeasured_and_not_within_the_budget(record: Record) -> None:
    summary = run(record(heard_gap_ms=None, heard_from_server_end_ms=None))
    assert (summary["unmeasured"], summary["within_budget"]) == (1, 0.0)
    assert summary["heard_gap_ms"]["unknown"] == summary["disagreement_ms"]["unknown"] == 1  # type: ignore[index]


def test_a_turn_without_a_reply_is_not_within_the_budget(record: Record) -> None:
    summary = run(record(), TurnRecord(name="silent.wav", turn=1, outcome="no_words"))
    assert (summary["turns"], summary["answered"], summary["unmeasured"], summary["within_budget"]) == (2, 1, 0, 0.5)


def test_stages_keep_beside_and_unknown_apart(record: Record, write_draft: Callable[[], TurnLedger]) -> None:
    stages = run(record(), record(write_draft()))["stages_ms"]
    assert stages["prefill"] == {"p50": 40.0, "p95": 40.0, "n": 1, "unknown": 0, "beside": 1}  # type: ignore[index]
    assert stages["tts"] == {"p50": 40.0, "p95": 40.0, "n": 1, "unknown": 1, "beside": 0}  # type: ignore[index]


def test_an_empty_run_has_no_figures() -> None:
    summary = run()
    assert (summary["turns"], summary["within_budget"], summary["wer"]) == (0, None, None)
    assert summary["speech_end_error_ms"]["bias"] is None  # type: ignore[index]


def test_bias_keeps_its_sign_and_percentiles_do_not(record: Record) -> None:
    errors = run(record(speech_end_error_ms=-30.0), record(speech_end_error_ms=10.0))["speech_end_error_ms"]
    assert errors == {"bias": -10.0, "p50": 10.0, "p95": 30.0, "n": 2, "unknown": 0}


def test_the_word_error_rate_is_taken_over_all_words(record: Record) -> None:
    scored = [record(words_wrong=1, words_reference=4), record(words_wrong=0, words_reference=6), record()]
    assert word_error_rate(scored) == 0.1
    assert word_error_rate(scored[2:]) is None


def test_a_record_survives_json(record: Record) -> None:
    turn = record()
    assert TurnRecord.from_json(json.loads(json.dumps({**turn.to_json(), "from_the_future": 1}))) == turn


def test_a_record_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not the record of a turn"):
        TurnRecord.from_json({"turn": 1})


def test_the_servers_part_of_a_record_is_reckoned_from_ledger_and_account(record: Record) -> None:
    turn = record()
    assert turn.reported_gap_ms == 413.0
    assert turn.marks["endpoint"] == 200.0
    assert turn.tiles[0] == ("endpointing", 0.0, 40.0)
    assert turn.outcome == "answered"
    assert "residual" not in turn.charges_ms
    assert sum(charge or 0 for charge in turn.charges_ms.values()) + (turn.residual_ms or 0) == turn.reported_gap_ms
    assert turn.ledger is not None
    assert TurnLedger.from_json(turn.ledger).outcome is Outcome.ANSWERED


def test_a_turn_that_never_got_far_reckons_what_there_is() -> None:
    ledger = TurnLedger(4)
    assert reckon(ledger, 1, None) == {"turn": 4, "outcome": None, "ledger": ledger.to_json()}
    ledger.mark(Mark.SPEECH_END, 5 * MS, revision=1, released_by=None)
    found = reckon(ledger, 1, Account.of(ledger.view(1), EXAMPLE))
    assert (found["marks"], found["work"]) == ({"speech_end": 0.0}, ())
    assert "reported_gap_ms" not in found


def test_a_record_says_its_verdict(record: Record) -> None:
    assert record().sentence() == "within budget, 87 ms to spare"
    assert record(took={"transcript": 312}).sentence() == "asr took 312 of 80 ms; the turn was 155 ms over"
    stalled = record(culprit="residual", residual_ms=300.0, reported_gap_ms=640.0)
    assert stalled.sentence() == "for 300 ms no stage was at work, 10 are allowed; the turn was 140 ms over"
    assert TurnRecord(name="x", turn=1).sentence() == "nothing was reported of this turn"


def test_the_gap_that_decides_is_the_heard_one_where_there_is_one(record: Record) -> None:
    assert record().decisive_gap_ms == 423.0
    assert record(heard_gap_ms=None).decisive_gap_ms == 413.0
    assert record(cut_in=True).decisive_gap_ms is None


def test_a_turn_that_only_the_server_speaks_of_is_a_record_as_well() -> None:
    record = reported({"turn": 3, "outcome": "answered", "reported_gap_ms": 400.0, "text": "yes"}, name="a call")
    assert (record.name, record.turn, record.answered, record.heard_gap_ms) == ("a call", 3, True, None)
    assert (record.reported_gap_ms, record.transcript) == (400.0, "yes")
    assert not reported({"turn": 4, "outcome": "failed"}, name="a call").answered
