"""What people see of a turn and of a run."""

import io
from collections.abc import Callable

import pytest
from example_budget import EXAMPLE
from rich.console import Console

from turngap.budget.ledger import TurnLedger
from turngap.budget.report.record import TurnRecord
from turngap.budget.report.run import summarise
from turngap.budget.report.waterfall import Waterfall, plain, table

Record = Callable[..., TurnRecord]


def test_a_turn_over_the_budget(record: Record) -> None:
    assert plain(Waterfall(record(took={"transcript": 312}))) == WATERFALL


def test_a_reply_that_was_ready_shows_its_work_beside_the_path(
    record: Record, write_draft: Callable[[], TurnLedger]
) -> None:
    lines = plain(Waterfall(record(write_draft()))).splitlines()
    assert "  asr                                                   ┊   unknown" in lines
    assert "  decode       ░░░░░                                    ┊   not on the path" in lines
    assert "  prefill                                               ┊   not on the path" in lines
    assert lines[-2] == "  ░ at work while nobody waited"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(record: Record, width: int) -> None:
    long = record(took={"transcript": 9000}, transcript="word " * 99, reply="語" * 200, name="n" * 300)
    run = summarise([long, record()], budget=EXAMPLE, config={})
    for text in (plain(Waterfall(long), width=width), plain(table(run), width=width)):
        assert max(map(len, text.splitlines())) <= width


def test_an_unmeasured_turn_says_so(record: Record) -> None:
    assert "heard gap unknown" in plain(Waterfall(record(heard_gap_ms=None, heard_from_server_end_ms=None)))


def test_an_opener_never_passes_for_the_answer(record: Record) -> None:
    assert "first content after 900 ms" in plain(Waterfall(record(first_content_gap_ms=900.0)))


def test_an_early_speech_end_is_said_to_be_early(record: Record) -> None:
    assert "speech end 20 ms early" in plain(Waterfall(record(speech_end_error_ms=-20.0)))


def test_a_cut_in_says_how_early() -> None:
    turn = TurnRecord(name="c.wav", turn=2, answered=True, cut_in=True, heard_gap_ms=-240.0)
    text = plain(Waterfall(turn))
    assert "no gap was reported of this turn" in text
    assert "cut in: the agent was heard 240 ms before the user had finished" in text
    unknown = TurnRecord(name="c.wav", turn=2, cut_in=True)
    assert "the agent was heard before the user had finished" in plain(Waterfall(unknown))


def test_a_turn_without_a_reply_says_why() -> None:
    assert "no reply left for this turn (no words)" in plain(
        Waterfall(TurnRecord(name="c", turn=1, outcome="no_words"))
    )
    assert "(outcome unknown)" in plain(Waterfall(TurnRecord(name="c", turn=1)))


def test_a_turn_that_only_the_client_knows_shows_what_was_heard() -> None:
    text = plain(Waterfall(TurnRecord(name="c", turn=1, answered=True, heard_gap_ms=420.0)))
    assert "the server reported nothing of this turn" in text
    assert "heard gap    ━━━" in text


def test_words_cannot_command_the_terminal(record: Record) -> None:
    text = plain(Waterfall(record(transcript="a\x1b[2J latte\n\n[bold]please", reply=None)))
    assert "“a [2J latte [bold]please”" in text


def test_a_terminal_without_unicode_gets_ascii(record: Record) -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", errors="strict"), width=80, color_system=None)
    console.print(Waterfall(record(took={"transcript": 312})))
    console.print(table(summarise([record()], budget=EXAMPLE, config={})))
    console.file.flush()
    text = raw.getvalue().decode("ascii")
    assert "###" in text
    assert "^ +232 <" in text


def test_colour_marks_the_culprit(record: Record) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as capture:
        console.print(Waterfall(record(took={"transcript": 312})))
    assert "\x1b[1;31masr\x1b[0m" in capture.get()


def test_the_table_of_a_run(record: Record, write_draft: Callable[[], TurnLedger]) -> None:
    turns = [record(took={"transcript": 50 + 2 * turn}, words_wrong=0, words_reference=4) for turn in range(60)]
    turns[0] = record(write_draft(), heard_gap_ms=501.0)
    assert plain(table(summarise(turns, budget=EXAMPLE, config={})), width=100) == TABLE


def test_a_run_of_many_turns_has_nothing_to_reserve(record: Record) -> None:
    few, many = ([record(speech_end_error_ms=None)] * count for count in (99, 100))
    assert "too few turns" in plain(table(summarise(few, budget=EXAMPLE, config={})))
    assert "too few turns" not in plain(table(summarise(many, budget=EXAMPLE, config={})))


def test_an_empty_run_has_a_table_too() -> None:
    text = plain(table(summarise([], budget=EXAMPLE, config={})))
    assert "no turns · 0 turns · 0 answered" in text


@pytest.mark.parametrize(
    ("llm", "shown"), [({"simulated": "groq"}, True), ({"spec": "local"}, False), ("local", False)]
)
def test_a_simulated_tier_is_told(record: Record, llm: object, shown: bool) -> None:
    text = plain(table(summarise([record()], budget=EXAMPLE, config={"llm": llm})))
    assert ("SIMULATED: groq" in text) is shown


def test_a_run_without_allowances_shows_a_dash(record: Record) -> None:
    run = summarise([record()], budget=EXAMPLE, config={})
    assert "1 turn · 1 answered" in plain(table({**run, "allowances_ms": {}}))


WATERFALL = """\
clip.wav · turn 1
  user         “a tall latte please”
  agent        “Sure, a tall latte.”

  ms           0           200         400          600     took    of
               ┬───────────┬───────────┬──────┼─────┬─────
  endpointing  ████████████▌                  ┊              200   210     −10
  asr                      ▐███████████████████              312    80  ▲ +232 ◀
  dispatch                                    ▏                1    10      −9
  prefill                                     ┊██▌            40    50     −10
  decode                                      ┊  ▐███         60    70     −10
  tts                                         ┊      ██▌      40    60     −20
  playout                                     ┊        ▏       2    10      −8
  residual                                    ┊                0    10     −10
               ───────────────────────────────┼───────────
  reported gap ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸     655   500  ▲ +155
  heard gap    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸    665   500  ▲ +165

  asr took 312 of 80 ms; the turn was 155 ms over
  heard and reported 4 ms apart · speech end 6 ms late
"""

TABLE = """\
  80 % within 500 ms · 60 turns · 60 answered · 0 cut in · 0 unmeasured

  ms                     p50     p90     p95     p99     max       n unknown
  heard gap              463     509     515    ~521     521      60       ·
  first content          461     509     515    ~521     521      60       ·
  reported gap           451     499     505    ~511     511      60       ·
  disagreement             4               4               4      60       ·
  speech end error         6               6                      60       ·

  ms                     p50     p95 allowed    blew  beside unknown
  endpointing            200     200     210       ·       ·       ·  ██████████████████████████████
  asr                    110     164      80       6       ·       1  ████████████████▌░░░░░░░░
  dispatch                 1       1      10       ·       1       ·  ▏
  prefill                 40      40      50       ·       1       ·  ██████
  decode                  60      60      70       ·       1       ·  █████████
  tts                     40      40      60       ·       ·       1  ██████
  playout                  2       2      10       ·       ·       ·  ▌
  residual                 0       0      10       ·       ·       ·

  6 turns over by the heard gap, not by the reported one: no stage to blame
  speech end 6 ms late in the mean · word error rate 0.0 %
  ~ too few turns to tell this percentile from the maximum
"""
