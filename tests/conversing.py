"""A client, ears and a model for whole sessions on leaping time, each as good or bad as a property draws it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from leap import LeapingLoop, run
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.budget.errors import StageError
from turngap.budget.marks import Span, Stage
from turngap.llm.backends.scripted import ScriptedBackend, ScriptedConversation, ScriptedReply
from turngap.llm.history import parted
from turngap.llm.protocol import Limits, Message, Urgency
from turngap.llm.speculation.english import ENGLISH
from turngap.llm.speculation.normal import normal
from turngap.voice.asr.protocol import Listener, Pass
from turngap.voice.manner import Manner, Parts
from turngap.voice.protocols.door import ClientGone, News, Packet
from turngap.voice.session import Session

RATE: Final = 16_000
PACKET_MS: Final = 40
PACKET: Final = RATE * PACKET_MS // 1000
VOICE: Final = (0.2 * np.sin(np.arange(PACKET) / 5)).astype(np.float32)
ROOM: Final = np.random.default_rng(0).normal(0, 0.0005, PACKET).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A voice and the silence after it, in packets; of the silence only so much is sent, if that is less."""

    voiced: int
    silent: int
    sent: int = 1 << 30


@dataclass
class Client:
    """Speaks in real time, and notes what it is told. It stalls the loop after some packets, is slow to take what it is
    told, and leaves when all is said, or once it has been told so much."""

    loop: LeapingLoop
    speech: Sequence[Stretch]
    leaves: bool = False
    leaves_after: int = 1 << 30
    slow: Ns = 0
    stalls: Mapping[int, Ns] = field(default_factory=dict)
    rate_hz: int = RATE
    told: list[tuple[str, Any]] = field(default_factory=list)
    gone: bool = False

    def __post_init__(self) -> None:
        self._start = self.loop.clock()
        self._packets = enumerate(self._spoken())
        self._next = next(self._packets, None)

    def _spoken(self) -> Iterable[tuple[Ns, NDArray[np.float32]]]:
        """Each packet, and when its last sample is spoken."""
        at = 0
        for stretch in self.speech:
            for count in range(stretch.voiced + min(stretch.silent, stretch.sent)):
                yield (at + count + 1) * PACKET_MS * MS, VOICE if count < stretch.voiced else ROOM
            at += stretch.voiced + stretch.silent
        yield at * PACKET_MS * MS, ROOM[:0]

    async def packet(self) -> Packet | None:
        """The next one; who calls again after a timeout has lost none."""
        if self._next is None:
            if self.leaves:
                self.gone = True
                raise ClientGone
            return None
        index, (due, samples) = self._next
        if (wait := self._start + due - self.loop.clock()) > 0:
            await asyncio.sleep(wait / SECOND)
        self._next = next(self._packets, None)
        self.loop.stall(self.stalls.get(index, 0))
        return Packet(samples, self.loop.clock())

    async def audio(self, samples: NDArray[np.float32]) -> None:
        await self._take("audio", samples)

    async def clear(self) -> None:
        await self._take("clear", None)

    async def transcript(self, role: str, text: str) -> None:
        await self._take(role, text)

    async def hypothesis(self, turn: int, stable: str, unstable: str) -> None:
        await self._take("hypothesis", (turn, stable, unstable))

    async def turn(self, report: Mapping[str, Any]) -> None:
        await self._take("turn", dict(report))

    async def tell(self, news: News) -> None:
        await self._take("news", news)

    async def error(self, code: str, message: str, remedy: str) -> None:
        await self._take("error", (code, message, remedy))

    async def _take(self, kind: str, value: Any) -> None:
        if self.slow:
            await asyncio.sleep(self.slow / SECOND)
        if len(self.told) >= self.leaves_after:
            self.gone = True
        if self.gone:
            raise ClientGone
        self.told.append((kind, value))

    def of(self, kind: str) -> list[Any]:
        return [value for told, value in self.told if told == kind]


@dataclass(frozen=True, slots=True)
class Word:
    """A word that ends at sample ``end``; until so much more audio is there, it is taken for another, or for none."""

    text: str
    end: int
    taken_for: str = ""
    needs: int = 0

    def heard(self, end: int) -> str:
        """What a pass over the audio up to ``end`` takes it for."""
        return self.text if end >= self.end + self.needs else self.taken_for


class Ears:
    """A recogniser that knows which words end where, and hears the newest of them wrong. Some passes fail."""

    def __init__(self, words: Sequence[Word], *, clock: Clock, cost: Ns = 0, fails: Iterable[bool] = ()) -> None:
        self._words = words
        self._clock = clock
        self._cost = cost
        self._fails = iter(fails)

    async def warm(self) -> None: ...

    def listen(self) -> Listener:
        return self

    async def decode(
        self, audio: NDArray[np.float32], *, start: int = 0, draft: Sequence[str] = (), prompt: str = ""
    ) -> Pass:
        began, end = self._clock(), start + len(audio)
        await asyncio.sleep(self._cost / SECOND)
        if next(self._fails, False):
            raise StageError(Stage.ASR, "these ears were told to fail")
        heard = [word.heard(end) for word in self._words if start < word.end <= end]
        work = Span(stage=Stage.ASR, start=began, end=self._clock(), what="decode")
        return Pass(words=tuple(text for text in heard if text), spans=(work,))

    def describe(self) -> dict[str, str]:
        return {}

    async def aclose(self) -> None: ...


class Model:
    """Answers in one of some ways, and which it is follows from the words alone: so many words that mean something,
    that way. The scripted model by itself goes to its next reply with each that it is asked for, be it a draft."""

    def __init__(self, ways: Sequence[ScriptedBackend]) -> None:
        self.ways = ways
        self.asked: list[tuple[tuple[Message, ...], ScriptedReply]] = []
        self.prepared: list[tuple[Message, ...]] = []

    @property
    def committed(self) -> list[tuple[Message, ...]]:
        """What it was shown for each reply that somebody waited for, and that did not fail before it began."""
        return [shown for shown, reply in self.asked if reply.urgency is Urgency.LIVE and not self._troubled(shown)]

    def way(self, messages: Sequence[Message]) -> int:
        """How it answers them."""
        return len(normal(parted(messages)[0][-1].content, ENGLISH)) % len(self.ways)

    def _troubled(self, messages: Sequence[Message]) -> bool:
        way = self.ways[self.way(messages)]
        return "before" in (way.fail, way.stall)

    async def warm(self) -> None: ...

    def converse(self) -> "Talk":
        return Talk(self)

    def describe(self) -> dict[str, str]:
        return {}

    async def aclose(self) -> None: ...


class Talk:
    """One conversation with the model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._ways: list[ScriptedConversation] = [way.converse() for way in model.ways]

    def reply(self, messages: Sequence[Message], *, limits: Limits, urgency: Urgency = Urgency.LIVE) -> ScriptedReply:
        made = self._ways[self._model.way(messages)].reply(messages, limits=limits, urgency=urgency)
        self._model.asked.append((tuple(messages), made))
        return made

    async def prepare(self, messages: Sequence[Message], *, urgency: Urgency = Urgency.DRAFT) -> None:
        self._model.prepared.append(tuple(messages))

    async def aclose(self) -> None: ...


def hold(client: Client, parts: Parts, manner: Manner) -> None:
    """Hold the conversation to its end, after which no task may be left."""

    async def session() -> None:
        async with asyncio.timeout(600):
            await Session(client, parts, manner, client.loop.clock).run()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == [], "a session leaves no task behind"

    run(client.loop, session())
