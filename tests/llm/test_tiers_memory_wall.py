"""The memory wall, against numbers that others have published."""

import pytest

from turngap.budget.errors import ConfigurationError
from turngap.llm.tiers.memory_wall import (
    HARDWARE,
    Load,
    ceiling,
    chips,
    find_hardware,
    kv_bytes,
    loop_s,
    prefill_s,
    tokens_at_once,
)

H100 = find_hardware("h100")
LLAMA_70B = Load(weights=70e9, active=70e9, bits=16)


def test_70b_in_16_bits_on_an_h100_is_24_tokens_per_second() -> None:
    assert LLAMA_70B.read_bytes() == 140e9
    assert ceiling(LLAMA_70B, H100) == pytest.approx(3.35e12 / 140e9)
    assert round(ceiling(LLAMA_70B, H100)) == 24


def test_twenty_calls_of_800_tokens_take_230_s_at_70_and_21_s_at_750() -> None:
    assert loop_s(calls=20, tokens=800, rate=70) == pytest.approx(228.6, abs=0.1)
    assert loop_s(calls=20, tokens=800, rate=750) == pytest.approx(21.3, abs=0.1)
    assert loop_s(calls=2, tokens=100, rate=100, ttft_s=0.5) == 3


def test_half_the_bits_are_twice_the_tokens() -> None:
    quantised = Load(weights=70e9, active=70e9, bits=8)
    assert ceiling(quantised, H100) == pytest.approx(2 * ceiling(LLAMA_70B, H100))


def test_only_active_weights_are_read_and_all_are_kept() -> None:
    experts = Load(weights=120e9, active=5e9, bits=16)
    assert experts.read_bytes() == 10e9
    assert chips(experts, H100) == 3


def test_llama_405b_needs_nineteen_wafers() -> None:
    """Commenters of its launch estimated 19 to 22 for the weights and the KV cache together."""
    assert chips(Load(weights=405e9, active=405e9, bits=16), HARDWARE["wse-3"]) == 19


def test_context_is_read_for_every_token_and_every_user() -> None:
    each = kv_bytes(layers=80, kv_heads=8, head_size=128)
    assert each == 327_680
    long = Load(weights=70e9, active=70e9, bits=16, context=30_000, kv_bytes=each)
    assert long.read_bytes() == pytest.approx(140e9 + 30_000 * each)
    assert long.read_bytes(8) == pytest.approx(140e9 + 8 * 30_000 * each)
    assert ceiling(long, H100, batch=8) < ceiling(long, H100)


def test_a_batch_costs_the_user_nothing_until_arithmetic_is_the_limit() -> None:
    assert ceiling(LLAMA_70B, H100, batch=64) == pytest.approx(ceiling(LLAMA_70B, H100))
    assert ceiling(LLAMA_70B, H100, batch=1000) == pytest.approx(989e12 / (2 * 70e9 * 1000))


def test_speculation_yields_several_tokens_for_one_reading() -> None:
    assert tokens_at_once(drafted=4, acceptance=0.8) == pytest.approx(1 + 0.8 + 0.8**2 + 0.8**3 + 0.8**4)
    assert tokens_at_once(drafted=4, acceptance=1) == 5
    assert tokens_at_once(drafted=0, acceptance=0.5) == 1


def test_prefill_is_arithmetic_for_a_long_prompt_and_one_reading_for_a_short_one() -> None:
    assert prefill_s(LLAMA_70B, H100, prompt=30_000, use=1) == pytest.approx(2 * 70e9 * 30_000 / 989e12)
    assert prefill_s(LLAMA_70B, H100, prompt=1) == pytest.approx(140e9 / 3.35e12)


def test_nonsense_is_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigurationError, match="h100"):
        find_hardware("abacus")
    with pytest.raises(ConfigurationError):
        Load(weights=1, active=2, bits=16)
    with pytest.raises(ConfigurationError):
        tokens_at_once(drafted=3, acceptance=2)
