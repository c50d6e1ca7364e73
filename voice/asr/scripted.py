"""A recogniser that knows beforehand what will be said: it hears ever more of a given text as the audio grows."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import MS, Clock
from turngap.budget.errors import StageError
from turngap.budget.marks import Span, Stage
from turngap.llm.spec import Spec
from turngap.voice.asr.protocol import ASR_RATE_HZ, Listener, Pass


class ScriptedRecognizer:
    """Hears ``text``: all of it, or with ``seconds`` the share of it that so much audio holds. Costs ``cost_ms``.

    ``fail=N`` lets the first N passes fail, ``fail=-1`` all of them.
    """

    def __init__(self, spec: Spec, *, clock: Clock) -> None:
        spec.reject_unknown({"text", "seconds", "cost_ms", "fail"})
        self._words = tuple(spec.options.get("text", "what time is it").split())
        self._seconds = spec.number("seconds", 0.0)
        self._cost_ms = spec.number("cost_ms", 0.0)
        self._failures = spec.integer("fail", 0)
        self._clock = clock

    async def warm(self) -> None:
        pass

    def listen(self) -> Listener:
        return self  # it keeps nothing of what it hears

    async def decode(
        self, audio: NDArray[np.float32], *, start: int = 0, draft: Sequence[str] = (), prompt: str = ""
    ) -> Pass:
        began = self._clock()
        if self._cost_ms:
            await asyncio.sleep(self._cost_ms * MS / 1e9)
        if self._failures:
            self._failures -= 1
            raise StageError(Stage.ASR, "the scripted recogniser was told to fail")
        return Pass(
            words=self._heard(len(audio)), spans=(Span(stage=Stage.ASR, start=began, end=self._clock(), what="decode"),)
        )

    def describe(self) -> dict[str, str]:
        return {"recogniser": "scripted", "model": "none"}

    async def aclose(self) -> None:
        pass

    def _heard(self, length: int) -> tuple[str, ...]:
        if not self._seconds:
            return self._words
        share = length / ASR_RATE_HZ / self._seconds
        return self._words[: round(min(share, 1.0) * len(self._words))]
