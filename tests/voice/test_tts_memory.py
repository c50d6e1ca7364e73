"""A voice that remembers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import numpy as np

from turngap.budget.marks import Span, Stage
from turngap.voice.tts.memory import CAPACITY_S, LONGEST, Remembering
from turngap.voice.tts.protocol import Speech, WordEnd

RATE = 8_000


class Counting:
    """Says two pieces of ``seconds`` for every text, and counts how often."""

    rate_hz = RATE

    def __init__(self, seconds: float = 0.1) -> None:
        self.said: list[str] = []
        self._samples = round(seconds * RATE)

    async def warm(self) -> None: ...

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        self.said.append(text)
        for level in (0.1, 0.2):
            span = Span(stage=Stage.TTS, start=1, end=2, what="made")
            words = (WordEnd(chars=len(text), samples=self._samples),) if level == 0.2 else ()
            yield Speech(samples=np.full(self._samples, level, np.float32), span=span, words=words)

    def describe(self) -> dict[str, str]:
        return {"voice": "counting"}

    async def aclose(self) -> None: ...


def say(voice: Remembering, text: str, *, pieces: int = 9) -> list[Speech]:
    async def run() -> list[Speech]:
        heard: list[Speech] = []
        async with aclosing(voice.speak(text)) as speaking:
            async for speech in speaking:
                heard.append(speech)
                if len(heard) == pieces:
                    break
        return heard

    return asyncio.run(run())


def test_a_short_text_is_made_once() -> None:
    made = Counting()
    voice = Remembering(made, clock=lambda: 7)
    first, again = say(voice, "Sure,"), say(voice, "Sure,")
    assert made.said == ["Sure,"]
    assert [list(speech.samples) for speech in again] == [list(speech.samples) for speech in first]
    assert [speech.words for speech in again] == [(), (WordEnd(chars=5, samples=RATE // 10),)]
    assert again[0].span == Span(stage=Stage.TTS, start=7, end=7, what="remembered")


def test_a_long_text_is_made_each_time() -> None:
    made = Counting()
    voice = Remembering(made, clock=lambda: 7)
    say(voice, "x" * (LONGEST + 1))
    say(voice, "x" * (LONGEST + 1))
    assert len(made.said) == 2


def test_a_text_that_was_broken_off_is_made_again() -> None:
    made = Counting()
    voice = Remembering(made, clock=lambda: 7)
    say(voice, "Sure,", pieces=1)
    assert len(say(voice, "Sure,")) == 2
    assert made.said == ["Sure,", "Sure,"]


def test_what_was_said_longest_ago_is_forgotten_first() -> None:
    made = Counting(seconds=CAPACITY_S / 4)
    voice = Remembering(made, clock=lambda: 7)
    for text in ("one", "two", "one", "three", "one", "two"):
        say(voice, text)
    assert made.said == ["one", "two", "three", "two"]
