"""The catalogue of tiers, and the pace that a simulation takes from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.budget.clock import MS, SECOND
from turngap.budget.errors import ConfigurationError
from turngap.llm.spec import Spec
from turngap.llm.tiers.catalogue import TIERS, find_tier, tier_of
from turngap.llm.tiers.figure import Grade
from turngap.llm.tiers.pace import Pace, duration, read_pace, tokens


def middle() -> float:
    return 0.5


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name)
def test_every_figure_tells_where_it_is_from(tier: object) -> None:
    for figure in (getattr(tier, key) for key in ("ttft_ms", "ttft_p95_ms", "rate", "price_in", "price_out")):
        if figure is not None:
            assert figure.value > 0
            assert figure.date.startswith("20")
            assert figure.source != "none" or figure.grade is Grade.ASSUMED
            assert figure.note or figure.grade not in (Grade.ASSUMED, Grade.DERIVED)


def test_names_are_unique_and_found() -> None:
    assert len({tier.name for tier in TIERS}) == len(TIERS)
    assert find_tier("cerebras-llama-405b").rate is not None
    with pytest.raises(ConfigurationError, match="codex-spark"):
        find_tier("abacus")


def test_json_keeps_grades_and_unknowns() -> None:
    shown = find_tier("cerebras-llama-405b").to_json()
    assert shown["ttft_ms"]["grade"] == "vendor"
    assert shown["price_in"] is None
    assert "note" in find_tier("openai-fast").to_json()["rate"]
    assert find_tier("openai-fast").grades == "ttft derived, rate derived"
    assert find_tier("anthropic-haiku").grades == "ttft measured"


def test_a_spec_is_known_by_its_tier() -> None:
    assert tier_of("sim:codex-spark?jitter=0.1") is find_tier("codex-spark")
    assert tier_of("openai:gpt-5.6-sol?service_tier=fast") is find_tier("openai-fast")
    assert tier_of("sim:nothing") is None
    assert tier_of("local") is None


def test_the_pace_of_a_tier_is_the_catalogues_unless_told_otherwise() -> None:
    plain = read_pace(Spec.parse("sim:groq-gpt-oss-120b"))
    assert (plain.ttft, plain.rate, plain.tail) == (98 * MS, 500, 119 * MS)
    changed = read_pace(Spec.parse("sim:groq-gpt-oss-120b?ttft=0.2s&rate=50&queue=3ms&prefill=1000&jitter=0.1"))
    assert changed == Pace(ttft=200 * MS, rate=50, queue=3 * MS, prefill=1000, jitter=0.1)
    assert read_pace(Spec.parse("sim?ttft=100&rate=9&p95=150ms")).tail == 50 * MS


@pytest.mark.parametrize(
    "text", ["sim", "sim?ttft=1", "sim:anthropic-haiku", "sim?ttft=soon&rate=1", "sim?ttft=1&rate=0"]
)
def test_a_pace_that_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_pace(Spec.parse(text))
    assert refused.value.remedy


def test_a_first_token_waits_for_queue_prompt_and_chance() -> None:
    pace = Pace(ttft=100 * MS, rate=100, jitter=0.2, queue=10 * MS, prefill=1000, tail=500 * MS)
    assert pace.first(new_tokens=50, chance=middle) == (10 + 100 + 50) * MS
    assert pace.first(new_tokens=0, chance=lambda: 0.0) == (10 + 80 + 500) * MS
    assert Pace(ttft=100 * MS, rate=1).first(new_tokens=9, chance=middle) == 100 * MS


def test_later_tokens_come_at_the_rate() -> None:
    pace = Pace(ttft=0, rate=969)
    assert pace.after(0) == 0
    assert pace.after(969) == SECOND


def test_durations_have_units() -> None:
    spec = Spec("sim", None, {"a": "20us", "b": "1.5s", "c": "7"})
    assert [duration(spec, key) for key in ("a", "b", "c", "absent")] == [20_000, 1500 * MS, 7 * MS, 0]


@given(st.text())
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text


def test_a_sentence_has_more_tokens_than_words() -> None:
    assert list(tokens("It's £4.50, unfortunately.")) == [
        "It", "'", "s", " £", "4", ".", "50", ",", " unfortu", "nately", ".",
    ]  # fmt: skip
