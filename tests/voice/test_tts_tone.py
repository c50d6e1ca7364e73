"""The silent voice, and how voices are chosen."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Span, Stage
from turngap.voice.audio.level import first_audible
from turngap.voice.tts.protocol import Speech, WordEnd
from turngap.voice.tts.registry import VOICES, make_synthesizer
from turngap.voice.tts.tone import ToneSynthesizer


def no_model(name: str) -> Path:
    raise AssertionError(f"asked for {name}")


def spoken(voice: ToneSynthesizer, text: str) -> list[Speech]:
    async def speak() -> list[Speech]:
        await voice.warm()
        async with aclosing(voice.speak(text)) as pieces:
            out = [piece async for piece in pieces]
        await voice.aclose()
        return out

    return asyncio.run(speak())


def tone(choice: str) -> ToneSynthesizer:
    voice = make_synthesizer(choice, find_model=no_model, clock=lambda: 7)
    assert isinstance(voice, ToneSynthesizer)
    return voice


def test_a_word_is_60_ms_and_the_first_word_comes_first() -> None:
    assert [len(piece.samples) for piece in spoken(tone("tone"), "one two three")] == [1440, 2880]


def test_it_knows_where_each_word_ends() -> None:
    first, rest = spoken(tone("tone?rate=8000"), "one, two  three")
    assert first.words == (WordEnd(chars=4, samples=480),)
    assert rest.words == (WordEnd(chars=8, samples=960), WordEnd(chars=15, samples=1440))


def test_the_first_sample_is_audible_and_the_tone_soft() -> None:
    (piece,) = spoken(tone("tone?rate=16000"), "one")
    assert first_audible(piece.samples, 16_000) == 0
    assert 10 * np.log10(np.mean(np.square(piece.samples))) == pytest.approx(-20.0, abs=0.2)
    assert piece.samples.dtype == np.float32


def test_its_pieces_join_without_a_seam() -> None:
    joined = np.concatenate([piece.samples for piece in spoken(tone("tone"), "one two")])
    assert np.max(np.abs(np.diff(joined))) < 0.02


def test_its_spans_tell_the_given_time() -> None:
    (piece,) = spoken(tone("tone?cost_ms=0.001"), "one")
    assert piece.span == Span(stage=Stage.TTS, start=7, end=7, what="tone")


def test_no_words_no_tone() -> None:
    assert spoken(tone("tone"), " ") == []


def test_it_fails_on_request_as_a_stage() -> None:
    with pytest.raises(StageError) as raised:
        spoken(tone("tone?fail=1"), "one")
    assert raised.value.stage is Stage.TTS


@pytest.mark.parametrize("choice", ["tone?rate=7", "tone?cost_ms=-1", "tone?pitch=3", "tone?rate=high", "harp"])
def test_a_choice_that_cannot_be_is_refused(choice: str) -> None:
    with pytest.raises(ConfigurationError):
        tone(choice)


def test_it_describes_itself() -> None:
    assert tone("tone?rate=8000").describe() == {"voice": "tone", "rate_hz": "8000"}


def test_both_voices_can_be_chosen_by_name() -> None:
    assert {"piper", "tone"} <= set(VOICES.names())
