"""A voice that remembers short pieces: replies begin alike more often than not, and what was said once is ready."""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from turngap.budget.clock import Clock
from turngap.budget.marks import Span, Stage
from turngap.voice.tts.protocol import Speech, Synthesizer

LONGEST: Final = 60
"""Characters: a first clause. Longer texts are hardly ever said twice."""

CAPACITY_S: Final = 900.0
"""Of audio in all, replies that are known in advance included; about 80 MB. What was not said for longest goes."""


class Remembering:
    """Another synthesizer, whose short texts are made once. The same text then sounds the same each time."""

    def __init__(self, synthesizer: Synthesizer, *, clock: Clock) -> None:
        self.rate_hz = synthesizer.rate_hz
        self._synthesizer = synthesizer
        self._clock = clock
        self._known: OrderedDict[str, tuple[Speech, ...]] = OrderedDict()
        self._samples = 0

    async def warm(self) -> None:
        await self._synthesizer.warm()
        self.rate_hz = self._synthesizer.rate_hz

    async def learn(self, text: str) -> None:
        """Make ``text`` once, of whatever length, so that it is known."""
        if text not in self._known:
            async with aclosing(self._synthesizer.speak(text)) as speaking:
                self._keep(text, tuple([speech async for speech in speaking]))

    def remember(self, text: str, pieces: tuple[Speech, ...]) -> None:
        """Know how ``text`` sounds without having said it."""
        if text not in self._known:
            self._keep(text, pieces)

    def known(self, text: str) -> tuple[Speech, ...] | None:
        """All of ``text``, if it was said before."""
        return self._known.get(text)

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """As the synthesizer that is wrapped, or at once what it has said before."""
        if (pieces := self._known.get(text)) is not None:
            self._known.move_to_end(text)
            for piece in pieces:
                now = self._clock()
                yield replace(piece, span=Span(stage=Stage.TTS, start=now, end=now, what="remembered"))
            return
        made: list[Speech] = []
        async with aclosing(self._synthesizer.speak(text)) as speaking:
            async for speech in speaking:
                made.append(speech)
                yield speech
        if len(text) <= LONGEST:
            self.remember(text, tuple(made))  # not reached by a text that was broken off

    def describe(self) -> dict[str, str]:
        return self._synthesizer.describe()

    async def aclose(self) -> None:
        await self._synthesizer.aclose()

    def _keep(self, text: str, pieces: tuple[Speech, ...]) -> None:
        self._known[text] = pieces
        self._samples += sum(len(piece.samples) for piece in pieces)
        while self._samples > CAPACITY_S * self.rate_hz:
            _, forgotten = self._known.popitem(last=False)
            self._samples -= sum(len(piece.samples) for piece in forgotten)
