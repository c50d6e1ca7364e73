"""The silent voice: a soft tone instead of words, at no cost. For tests, demos, and measuring everything else.

``tone?rate=24000&cost_ms=0&fail=0``: it can be slow on purpose, and it can fail on purpose.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Span, Stage
from turngap.llm.spec import Spec
from turngap.voice.tts.protocol import Speech, WordEnd
from turngap.voice.tts.words import words_of

WORD_MS: Final = 60
PITCH_HZ: Final = 330.0
LEVEL_DB: Final = -20.0
PHASE: Final = 0.3
"""Of the first sample, so that it is audible: a sine that began at zero would be heard one sample late."""


class ToneSynthesizer:
    """60 ms of a soft tone for each word; the first word is the first piece, the others are the second."""

    def __init__(self, *, clock: Clock, rate_hz: int = 24_000, cost: Ns = 0, fails: bool = False) -> None:
        self.rate_hz = rate_hz
        self._clock = clock
        self._cost = cost
        self._fails = fails

    async def warm(self) -> None:
        """There is nothing to load."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """The tone for ``text``; its first piece comes after the cost that was asked for, in the loop's time."""
        start = self._clock()
        if self._cost:
            await asyncio.sleep(self._cost / SECOND)
        if self._fails:
            raise StageError(Stage.TTS, "the tone was asked to fail", remedy="Leave out fail=1")
        each = self.rate_hz * WORD_MS // 1000
        words = [WordEnd(chars=word.end(), samples=each * count) for count, word in enumerate(words_of(text), 1)]
        samples = self._tone(len(words))
        for piece, ends in ((samples[:each], words[:1]), (samples[each:], words[1:])):
            if len(piece):
                span = Span(stage=Stage.TTS, start=start, end=self._clock(), what="tone")
                yield Speech(samples=piece, span=span, words=tuple(ends))
            start = self._clock()

    def describe(self) -> dict[str, str]:
        return {"voice": "tone", "rate_hz": str(self.rate_hz)}

    async def aclose(self) -> None:
        """There is nothing to give back."""

    def _tone(self, words: int) -> NDArray[np.float32]:
        at = np.arange(words * (self.rate_hz * WORD_MS // 1000)) / self.rate_hz
        amplitude = 10.0 ** (LEVEL_DB / 20.0) * np.sqrt(2.0)
        return np.asarray(amplitude * np.sin(2.0 * np.pi * PITCH_HZ * at + PHASE), np.float32)


def make(spec: Spec, *, clock: Clock, **_context: Any) -> ToneSynthesizer:
    """Build it from ``tone[?rate=..&cost_ms=..&fail=1]``."""
    spec.reject_unknown({"rate", "cost_ms", "fail"})
    rate_hz = spec.integer("rate", 24_000)
    cost_ms = spec.number("cost_ms", 0.0)
    if not 8_000 <= rate_hz <= 48_000:
        raise ConfigurationError(f"rate={rate_hz} is out of range", remedy="Choose 8000 to 48000")
    if not 0.0 <= cost_ms <= 60_000.0:
        raise ConfigurationError(f"cost_ms={cost_ms:g} is out of range", remedy="Choose 0 to 60000")
    return ToneSynthesizer(clock=clock, rate_hz=rate_hz, cost=int(cost_ms * MS), fails=spec.integer("fail", 0) != 0)
