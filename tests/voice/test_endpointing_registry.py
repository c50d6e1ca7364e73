"""Choosing an endpointing policy, and a barge-in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from turngap.budget.errors import ConfigurationError, ModelError
from turngap.llm.spec import Spec
from turngap.voice.endpointing.energy import EnergyActivity
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.registry import ENDPOINTING
from turngap.voice.endpointing.weighing import Weighing
from turngap.voice.endpointing.wording import Claim
from turngap.voice.engine import Engine
from turngap.voice.settings import Settings
from turngap.voice.turn import Yielding

FAKES = Settings(llm="scripted?reply=Yes.", asr="scripted", voice="tone", endpointing="fixed?vad=energy")


def nowhere(name: str) -> Path:
    raise ModelError(f"{name} has not been pulled")


def make(choice: str) -> Any:
    return ENDPOINTING.make(Spec.parse(choice), find_model=nowhere, clock=lambda: 0)


@pytest.mark.parametrize(
    ("choice", "policy", "told"),
    [
        ("fixed?vad=energy&hangover=300", Hangover, {"policy": "fixed", "hangover_ms": "300", "vad": "energy"}),
        (
            "vad?vad=energy&certainty=0.7&longest=900",
            Weighing,
            {"policy": "vad", "certainty": "0.7", "longest_ms": "900", "vad": "energy"},
        ),
    ],
)
def test_a_policy_without_models_needs_none(choice: str, policy: type, told: dict[str, str]) -> None:
    ears = make(choice)
    assert isinstance(ears.policy(), policy)
    assert isinstance(ears.listen(), EnergyActivity)
    assert ears.turn_end() is None
    assert ears.describe() == told
    ears.close()


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ("fixed?vad=energy&certainty=0.7", "no option 'certainty'"),
        ("full?vad=energy&certainty=1", "certainty=1 is no chance"),
        ("fixed?vad=nose", "no voice detector 'nose'"),
        ("psychic", "no endpointing 'psychic'"),
    ],
)
def test_what_can_not_be_chosen_is_named(choice: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make(choice)


@pytest.mark.parametrize("choice", ["smart?vad=energy", "full?vad=energy"])
def test_a_policy_that_asks_needs_its_model(choice: str) -> None:
    with pytest.raises(ModelError, match="smart-turn"):
        make(choice)


@pytest.mark.parametrize(
    ("barge_in", "yielding", "decide_ms"),
    [("pause", Yielding.AT_ONCE, 500), ("words", Yielding.TO_WORDS, 500), ("pause?decide=300", Yielding.AT_ONCE, 300)],
)
def test_a_barge_in_is_chosen_by_name(barge_in: str, yielding: Yielding, decide_ms: int) -> None:
    manner = Engine(replace(FAKES, barge_in=barge_in), find_model=nowhere, clock=lambda: 0).manner()
    assert (manner.yielding, manner.decide) == (yielding, decide_ms * 1_000_000)
    assert (manner.claims("wait"), manner.claims("mhm")) == (Claim.SURE, Claim.NONE)


def test_an_unknown_barge_in_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no barge-in 'shout'"):
        Engine(replace(FAKES, barge_in="shout"), find_model=nowhere, clock=lambda: 0)
