"""Charges tile the gap, and whoever is slow is charged with it, and no one else."""

import json
from collections.abc import Callable, Mapping

import pytest
from example_budget import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.account import Account, Standing, charges, critical_path, has_gap, tiles
from turngap.budget.allowance import Budget
from turngap.budget.clock import MS
from turngap.budget.ledger import TurnLedger, Wording
from turngap.budget.marks import ENDS, Mark, Marked, Span, Stage

Write = Callable[..., TurnLedger]
STEP, DELAY = 20 * MS, 300 * MS


def wording(marks: Mapping[Mark, tuple[int, Mark | None]], *spans: tuple[Stage, int, int]) -> Wording:
    """A wording in ms, from ``mark: (at, released_by)`` and ``(stage, start, end)``."""
    ledger = TurnLedger(1)
    for mark, (at, cause) in marks.items():
        ledger.mark(mark, at * MS, revision=1, released_by=cause)
    for stage, start, end in spans:
        ledger.span(Span(stage=stage, start=start * MS, end=end * MS), revision=1)
    return ledger.view(1)


def account(view: Wording, budget: Budget = EXAMPLE) -> Account:
    found = Account.of(view, budget)
    assert found is not None
    return found


def in_ms(charged: Mapping[Stage, int | None]) -> dict[Stage, float | None]:
    return {stage: None if charge is None else charge / MS for stage, charge in charged.items()}


def test_the_path_is_walked_back_from_the_end() -> None:
    marks = {
        Mark.SPEECH_END: Marked(mark=Mark.SPEECH_END, at=0, released_by=None),
        Mark.ENDPOINT: Marked(mark=Mark.ENDPOINT, at=1, released_by=Mark.SPEECH_END),
        Mark.SENT: Marked(mark=Mark.SENT, at=2, released_by=Mark.ENDPOINT),
    }
    assert list(critical_path(marks, Mark.SENT)) == [(Mark.ENDPOINT, Mark.SENT), (Mark.SPEECH_END, Mark.ENDPOINT)]


def test_a_plain_turn_charges_each_stage_with_its_own_stretch(write: Write) -> None:
    found = account(write().view(1))
    assert in_ms(found.charges) == {
        Stage.ENDPOINTING: 200,
        Stage.ASR: 70,
        Stage.DISPATCH: 1,
        Stage.PREFILL: 40,
        Stage.DECODE: 60,
        Stage.TTS: 40,
        Stage.PLAYOUT: 2,
        Stage.RESIDUAL: 0,
    }
    assert found.gap == 413 * MS
    assert found.culprit is None
    assert found.sentence() == "within budget, 87 ms to spare"
    assert found.path == tuple(Mark)


def test_an_endpoint_that_waited_for_the_transcript_is_charged_to_asr() -> None:
    view = wording(
        {
            Mark.SPEECH_END: (0, None),
            Mark.TRANSCRIPT: (400, Mark.SPEECH_END),
            Mark.ENDPOINT: (401, Mark.TRANSCRIPT),
            Mark.SENT: (402, Mark.ENDPOINT),
        },
        (Stage.ASR, -100, 400),
        (Stage.ENDPOINTING, 0, 401),
        (Stage.PLAYOUT, 401, 402),
    )
    assert in_ms(charges(view))[Stage.ASR] == 400
    assert in_ms(charges(view))[Stage.ENDPOINTING] == 1


def test_work_of_another_stage_does_not_cover_a_stretch() -> None:
    view = wording(
        {Mark.SPEECH_END: (0, None), Mark.SENT: (100, Mark.SPEECH_END)},
        (Stage.PLAYOUT, 90, 100),
        (Stage.DECODE, 0, 100),
    )
    assert in_ms(charges(view)) == {Stage.DECODE: None, Stage.PLAYOUT: 10, Stage.RESIDUAL: 90}


def test_overlapping_spans_are_charged_once_and_holes_are_residual() -> None:
    view = wording(
        {Mark.SPEECH_END: (0, None), Mark.SENT: (100, Mark.SPEECH_END)},
        (Stage.PLAYOUT, 10, 30),
        (Stage.PLAYOUT, 20, 40),
        (Stage.PLAYOUT, 25, 35),
        (Stage.PLAYOUT, 60, 400),
    )
    assert [(tile.stage.value, tile.start // MS, tile.end // MS) for tile in tiles(view)] == [
        ("residual", 0, 10),
        ("playout", 10, 30),
        ("playout", 30, 40),
        ("residual", 40, 60),
        ("playout", 60, 100),
    ]


def test_a_reply_that_was_ready_leaves_its_stages_beside_the_path(write_draft: Callable[[], TurnLedger]) -> None:
    found = account(write_draft().view(1))
    assert in_ms(found.charges) == {
        Stage.ENDPOINTING: 200,
        Stage.DISPATCH: None,
        Stage.PREFILL: None,
        Stage.DECODE: None,
        Stage.PLAYOUT: 3,
        Stage.RESIDUAL: 0,
    }
    assert found.standing(Stage.ENDPOINTING) is Standing.ON_PATH
    assert found.standing(Stage.PREFILL) is Standing.BESIDE
    assert found.standing(Stage.TTS) is Standing.UNKNOWN


def test_a_path_from_before_the_speech_end_is_clipped_to_the_gap() -> None:
    view = wording(
        {
            Mark.SPEECH_END: (0, None),
            Mark.REQUEST: (-80, None),
            Mark.FIRST_TOKEN: (-30, Mark.REQUEST),
            Mark.SPEAKABLE: (50, Mark.FIRST_TOKEN),
            Mark.SENT: (52, Mark.SPEAKABLE),
        },
        (Stage.PREFILL, -80, -30),
        (Stage.DECODE, -30, 50),
        (Stage.PLAYOUT, 50, 52),
    )
    found = account(view)
    assert in_ms(found.charges) == {
        Stage.DISPATCH: None,
        Stage.PREFILL: None,
        Stage.DECODE: 50,
        Stage.PLAYOUT: 2,
        Stage.RESIDUAL: 0,
    }
    assert found.path == (Mark.FIRST_TOKEN, Mark.SPEAKABLE, Mark.SENT)


def test_time_before_a_mark_without_cause_is_residual() -> None:
    view = wording(
        {Mark.SPEECH_END: (0, None), Mark.FIRST_AUDIO: (70, None), Mark.SENT: (80, Mark.FIRST_AUDIO)},
        (Stage.PLAYOUT, 70, 80),
    )
    assert in_ms(charges(view)) == {Stage.TTS: None, Stage.PLAYOUT: 10, Stage.RESIDUAL: 70}


def test_a_reply_without_any_cause_is_all_residual() -> None:
    view = wording({Mark.SPEECH_END: (0, None), Mark.SENT: (80, None)})
    found = account(view)
    assert (found.residual, found.path) == (80 * MS, (Mark.SENT,))


def test_a_stage_waited_for_but_never_seen_at_work_is_unknown_not_nought() -> None:
    view = wording({Mark.SPEECH_END: (0, None), Mark.SENT: (80, Mark.SPEECH_END)})
    found = account(view)
    assert found.standing(Stage.PLAYOUT) is Standing.UNKNOWN
    assert found.residual == 80 * MS


def test_a_stage_that_took_no_time_is_charged_nought_and_is_on_the_path() -> None:
    view = wording({Mark.SPEECH_END: (0, None), Mark.SENT: (0, Mark.SPEECH_END)})
    assert in_ms(charges(view)) == {Stage.PLAYOUT: 0, Stage.RESIDUAL: 0}


@pytest.mark.parametrize(
    "marks",
    [
        {Mark.SPEECH_END: (0, None)},
        {Mark.SENT: (0, None)},
        {Mark.SPEECH_END: (10, None), Mark.SENT: (9, None)},
    ],
)
def test_without_a_gap_there_is_nothing_to_account_for(marks: dict[Mark, tuple[int, Mark | None]]) -> None:
    assert not has_gap(wording(marks))
    assert Account.of(wording(marks), EXAMPLE) is None


def test_json_of_an_account_keeps_beside_and_unknown_apart(write_draft: Callable[[], TurnLedger]) -> None:
    json = account(write_draft().view(1)).to_json()
    assert json["charges_ms"]["prefill"] is None
    assert "tts" not in json["charges_ms"]
    assert (json["gap_ms"], json["overrun_ms"], json["culprit"]) == (203.0, -297.0, None)
    assert json["path"] == ["speech_end", "endpoint", "sent"]


# Whoever is slow is charged


def delayed(slow: Mark | None, *, stalled_at: Mark | None = None) -> Wording:
    """Every stage works for 20 ms; ``slow`` works 300 ms longer, before ``stalled_at`` nobody works for 300 ms."""
    ledger, at, before = TurnLedger(1), 0, Mark.SPEECH_END
    ledger.mark(before, at, revision=1, released_by=None)
    for mark in list(Mark)[1:]:
        start = at + (DELAY if mark is stalled_at else 0)
        at = start + STEP + (DELAY if mark is slow else 0)
        ledger.mark(mark, at, revision=1, released_by=before)
        ledger.span(Span(stage=ENDS[mark], start=start, end=at), revision=1)
        before = mark
    return ledger.view(1)


EVEN = Budget(total=200 * MS, allowances={**dict.fromkeys(Stage, 20 * MS), Stage.ENDPOINTING: 60 * MS})


@pytest.mark.parametrize("slow", list(Mark)[1:])
def test_a_delay_is_charged_to_the_stage_that_had_it_and_to_no_other(slow: Mark) -> None:
    usual, found = account(delayed(None), EVEN), account(delayed(slow), EVEN)
    assert usual.culprit is None
    assert found.culprit is ENDS[slow]
    for stage in Stage:
        more = (found.charges[stage] or 0) - (usual.charges[stage] or 0)
        assert more == (DELAY if stage is ENDS[slow] else 0)


@pytest.mark.parametrize("stalled_at", list(Mark)[1:])
def test_a_stalled_loop_is_charged_to_the_residual_and_to_no_stage(stalled_at: Mark) -> None:
    usual, found = account(delayed(None), EVEN), account(delayed(None, stalled_at=stalled_at), EVEN)
    assert found.culprit is Stage.RESIDUAL
    assert found.residual == DELAY
    assert {**found.charges, Stage.RESIDUAL: 0} == {**usual.charges, Stage.RESIDUAL: 0}
    assert found.sentence() == "for 300 ms no stage was at work, 20 are allowed; the turn was 260 ms over"


# Whatever was written, charges tile the gap


@st.composite
def wordings(draw: st.DrawFn) -> Wording:
    """Any order of marks, any earlier mark as the cause of each, any spans."""
    ledger, known = TurnLedger(1), dict[Mark, int]()
    times = st.integers(0, 400)
    for mark in draw(st.permutations(list(Mark))):
        cause = None if mark is Mark.SPEECH_END else draw(st.sampled_from([None, *known]))
        known[mark] = draw(st.integers(-200, 600)) if cause is None else known[cause] + draw(times)
        ledger.mark(mark, known[mark], revision=1, released_by=cause)
    for stage in draw(st.lists(st.sampled_from(list(Stage)[:-1]), max_size=8)):
        start = draw(st.integers(-400, 800))
        ledger.span(Span(stage=stage, start=start, end=start + draw(times)), revision=1)
    return ledger.view(1)


@given(wordings(), st.integers(1, 2_000))
def test_charges_tile_the_gap_and_variances_add_up_to_the_overrun(view: Wording, total: int) -> None:
    found = Account.of(view, EXAMPLE.scaled(total))
    if found is None:
        assert view.marks[Mark.SENT].at < view.marks[Mark.SPEECH_END].at
        return
    edges = [view.marks[Mark.SPEECH_END].at, *(tile.end for tile in found.tiles)]
    assert [tile.start for tile in found.tiles] == edges[:-1]
    assert edges[-1] == view.marks[Mark.SENT].at
    assert all(tile.start < tile.end for tile in found.tiles)
    stages = [charge for stage, charge in found.charges.items() if stage is not Stage.RESIDUAL]
    assert sum(charge or 0 for charge in stages) + found.residual == found.gap
    assert sum(found.variances.values()) == found.overrun == found.gap - total
    assert (found.culprit is not None) == (found.overrun > 0)
    if found.culprit is not None:
        assert found.standing(found.culprit) is Standing.ON_PATH


@given(wordings())
def test_no_stage_is_charged_for_time_outside_its_own_spans(view: Wording) -> None:
    for tile in tiles(view) if has_gap(view) else ():
        if tile.stage is not Stage.RESIDUAL:
            own = [span for span in view.spans if span.stage is tile.stage]
            assert any(span.start <= tile.start and tile.end <= span.end for span in own)


@given(wordings(), st.integers(0, 10**15))
def test_the_numbers_survive_json(view: Wording, total: int) -> None:
    found = Account.of(view, EXAMPLE.scaled(total or 1))
    if found is not None:
        read = json.loads(json.dumps(found.to_json()))
        back = {Stage(k): None if v is None else round(v * MS) for k, v in read["charges_ms"].items()}
        assert back == found.charges
        assert sum(charge or 0 for charge in back.values()) == round(read["gap_ms"] * MS) == found.gap
        assert sum(round(v * MS) for v in read["variances_ms"].values()) == found.overrun
