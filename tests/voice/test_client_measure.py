"""Records from tracks and reports, told by scores."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.budget.allowance import DEFAULT
from turngap.budget.report.reported import pieces, retiled
from turngap.budget.report.run import summarise
from turngap.voice.client.measure import Asked, failed, measure
from turngap.voice.client.truth import Utterance

RATE_HZ = 16_000


def agent(*sounding_ms: tuple[int, int]) -> NDArray[np.float32]:
    track = np.zeros(20 * RATE_HZ, np.float32)
    for start, end in sounding_ms:
        track[start * RATE_HZ // 1000 : end * RATE_HZ // 1000] = 0.1
    return track


def asked(start_ms: int, end_ms: int, **more: Any) -> Asked:
    return Asked(name="clip", user=Utterance(start_s=start_ms / 1000, end_s=end_ms / 1000), **more)


def report(speech_end_ms: int, gap_ms: float | None, **more: Any) -> dict[str, Any]:
    outcome = {"outcome": "answered"} | more
    return {"turn": 1, "speech_end_s": speech_end_ms / 1000, "reported_gap_ms": gap_ms, **outcome}


def test_heard_and_reported_stand_beside_each_other() -> None:
    (turn,) = measure(
        [asked(500, 2000)], agent=agent((2450, 4000)), rate_hz=RATE_HZ, turns=[report(1980, 465.0, reply="Sure.")]
    )
    assert turn.answered
    assert turn.heard_gap_ms == pytest.approx(450)
    assert turn.heard_from_server_end_ms == pytest.approx(470)
    assert turn.disagreement_ms == pytest.approx(5)
    assert turn.speech_end_error_ms == pytest.approx(-20)
    assert turn.first_content_gap_ms == turn.heard_gap_ms
    assert turn.reply == "Sure."


def test_the_report_that_explains_what_was_heard_is_the_one_that_counts() -> None:
    reports = [report(1200, 300.0, outcome="interrupted", text="a large"), report(2000, 500.0, text="latte")]
    (turn,) = measure([asked(500, 2000)], agent=agent((1500, 1700), (2500, 4000)), rate_hz=RATE_HZ, turns=reports)
    assert turn.cut_in
    assert turn.heard_gap_ms == pytest.approx(500)
    assert turn.reported_gap_ms == 500.0
    assert turn.transcript == "a large latte"


def test_an_agent_that_reports_nothing_is_measured_all_the_same() -> None:
    (turn,) = measure([asked(500, 2000)], agent=agent((2450, 4000)), rate_hz=RATE_HZ, turns=[])
    assert turn.answered
    assert turn.heard_gap_ms == pytest.approx(450)
    assert turn.reported_gap_ms is None
    assert turn.disagreement_ms is None


def test_an_answer_that_was_reported_and_not_heard_is_unmeasured() -> None:
    (turn,) = measure([asked(500, 2000)], agent=agent(), rate_hz=RATE_HZ, turns=[report(2000, 450.0)])
    assert turn.unmeasured


def test_an_excuse_is_no_answer() -> None:
    reports = [report(2000, None, outcome="failed")]
    (turn,) = measure([asked(500, 2000)], agent=agent((2900, 4000)), rate_hz=RATE_HZ, turns=reports)
    assert not turn.answered


def test_reports_go_to_the_turn_in_which_the_server_heard_the_end() -> None:
    first, second = measure(
        [asked(500, 2000), asked(5000, 6000)],
        agent=agent((2400, 3000), (6300, 7000)),
        rate_hz=RATE_HZ,
        turns=[report(2000, 400.0), report(6000, 300.0), {"turn": 3, "outcome": "abandoned", "speech_end_s": None}],
    )
    assert (first.reported_gap_ms, second.reported_gap_ms) == (400.0, 300.0)
    assert (first.turn, second.turn) == (1, 2)


def test_content_past_an_opener_is_heard_as_much_later_as_it_was_sent_later() -> None:
    reports = [report(2000, 200.0, first_content_gap_ms=650.0)]
    (turn,) = measure([asked(500, 2000)], agent=agent((2210, 4000)), rate_hz=RATE_HZ, turns=reports)
    assert turn.first_content_gap_ms == pytest.approx(660)


def test_an_opener_that_nothing_follows_has_no_content() -> None:
    reports = [report(2000, 200.0, opener="Sure.")]
    (turn,) = measure([asked(500, 2000)], agent=agent((2210, 4000)), rate_hz=RATE_HZ, turns=reports)
    assert turn.heard_gap_ms == pytest.approx(210)
    assert turn.first_content_gap_ms is None


def test_charges_keep_what_is_beside_the_path_apart_from_what_is_unknown() -> None:
    charged = {"endpointing": 200.0, "asr": None, "residual": 3.0}
    (turn,) = measure(
        [asked(500, 2000)],
        agent=agent((2450, 4000)),
        rate_hz=RATE_HZ,
        turns=[report(2000, 450.0, charges_ms=charged, residual_ms=3.0)],
    )
    assert turn.charges_ms == {"endpointing": 200.0, "asr": None}
    assert turn.residual_ms == 3.0


def test_tiles_are_laid_again_from_path_marks_and_spans() -> None:
    told = {
        "path": ["speech_end", "pause", "endpoint", "sent"],
        "marks": {"speech_end": 0.0, "pause": 50.0, "endpoint": 200.0, "sent": 230.0},
        "spans": [
            {"stage": "endpointing", "what": "vad", "start_ms": 0.0, "end_ms": 200.0},
            {"stage": "playout", "what": "send", "start_ms": 210.0, "end_ms": 230.0},
        ],
    }
    assert retiled(told) == (
        ("endpointing", 0.0, 50.0),
        ("endpointing", 50.0, 200.0),
        ("residual", 200.0, 210.0),
        ("playout", 210.0, 230.0),
    )
    assert retiled({"path": ["speech_end", "sent"], "marks": {}}) == ()
    assert retiled({}) == ()
    assert retiled({"path": ["speech_end"], "marks": {"speech_end": 0.0}}) == ()


def test_spans_are_read_whichever_way_they_are_spelled() -> None:
    assert pieces([["asr", 1, 2.5], {"stage": "tts", "start_ms": 3, "end_ms": 4}]) == (("asr", 1, 2.5), ("tts", 3, 4))
    assert pieces(None) == ()


def test_a_turn_that_failed_stays_in_the_run() -> None:
    turn = failed("clip", "the server hung up", number=1, file="clip.wav")
    run = summarise([turn], budget=DEFAULT, config={})
    assert (run["turns"], run["answered"], run["within_budget"]) == (1, 0, 0.0)
    assert run["per_turn"][0]["outcome"] == "failed: the server hung up"


def test_words_are_scored_where_there_is_a_reference() -> None:
    reports = [report(2000, 450.0, text="A large latte.")]
    track = agent((2450, 4000))
    (scored,) = measure([asked(500, 2000, reference="a small latte")], agent=track, rate_hz=RATE_HZ, turns=reports)
    (unscored,) = measure([asked(500, 2000)], agent=track, rate_hz=RATE_HZ, turns=reports)
    assert (scored.words_wrong, scored.words_reference) == (1, 3)
    assert (unscored.words_wrong, unscored.words_reference) == (None, None)
