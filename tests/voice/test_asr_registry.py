"""Choosing a recogniser, and the scripted one."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.errors import ConfigurationError, ModelError, StageError
from turngap.budget.marks import Span, Stage
from turngap.voice.asr.protocol import Pass, Recognizer
from turngap.voice.asr.registry import RECOGNIZERS, make_recognizer


def nowhere(name: str) -> Path:
    raise ModelError(f"{name} has not been pulled")


def make(choice: str) -> Recognizer:
    return make_recognizer(choice, find_model=nowhere, clock=lambda: 5)


def hear(recognizer: Recognizer, seconds: float) -> Pass:
    return asyncio.run(recognizer.listen().decode(np.zeros(round(16_000 * seconds), np.float32)))


def test_names_are_listed() -> None:
    assert {"scripted", "whisper"} <= set(RECOGNIZERS.names())


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no option 'colour'"):
        make("scripted?colour=red")


def test_the_scripted_recogniser_hears_its_text_at_no_cost() -> None:
    heard = hear(make("scripted?text=a+small+latte"), 1.0)
    assert heard.words == ("a", "small", "latte")
    assert heard.spans == (Span(stage=Stage.ASR, start=5, end=5, what="decode"),)


def test_it_hears_more_as_the_audio_grows() -> None:
    recognizer = make("scripted?text=a+small+latte+please&seconds=2")
    assert hear(recognizer, 1.0).words == ("a", "small")
    assert hear(recognizer, 1.5).words == ("a", "small", "latte")
    assert hear(recognizer, 9.0).words == ("a", "small", "latte", "please")


def test_it_may_hear_nothing() -> None:
    assert hear(make("scripted?text="), 1.0).words == ()


def test_it_fails_as_often_as_it_is_told() -> None:
    recognizer = make("scripted?fail=1&text=yes")
    with pytest.raises(StageError):
        hear(recognizer, 1.0)
    assert hear(recognizer, 1.0).words == ("yes",)


def test_it_describes_itself() -> None:
    recognizer = make("scripted")
    asyncio.run(recognizer.warm())
    assert recognizer.describe()["recogniser"] == "scripted"
    asyncio.run(recognizer.aclose())
