"""The models of a server, made from its settings, and shared by its conversations."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any

from turngap.budget.allowance import Budget
from turngap.budget.clock import MS, Clock
from turngap.budget.errors import ConfigurationError
from turngap.llm.backends import make_backend
from turngap.llm.clause import Clauses, speakable
from turngap.llm.history import History
from turngap.llm.protocol import Conversation, Limits
from turngap.llm.spec import Spec
from turngap.llm.speculation.store import fingerprint
from turngap.voice import ready
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.audio.aec3 import canceller_maker
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import Hangover
from turngap.voice.endpointing.protocol import Endpointing
from turngap.voice.endpointing.registry import ENDPOINTING
from turngap.voice.endpointing.voicing import Voicing
from turngap.voice.endpointing.wording import claim
from turngap.voice.manner import Manner, Parts
from turngap.voice.settings import Settings
from turngap.voice.speculating import SPECULATION
from turngap.voice.tts.memory import Remembering
from turngap.voice.tts.registry import make_synthesizer
from turngap.voice.turn import Yielding

REHEARSAL = (
    "Hello.",
    "I would like to order something.",
    "Can I have a coffee, please?",
    "Can you help me?",
)

FOR_GOOD_MS = 24 * 3600 * 1000.0
LEAVE_SHARE = 0.7
"""A voice is gone at this share of the probability at which it began: our own 0.35 of 0.5."""
PATIENCE = {"low": 2.0, "medium": 1.0, "auto": 1.0, "high": 0.5}

PACKAGES = ("faster-whisper", "livekit", "onnxruntime", "piper-tts", "torch", "transformers", "websockets")


class Engine:
    """Loads what the settings name. :meth:`warm` before the first conversation, :meth:`aclose` after the last."""

    def __init__(self, settings: Settings, *, find_model: Callable[[str], Path], clock: Clock) -> None:
        if settings.governor != "observe":
            raise ConfigurationError(f"there is no governor '{settings.governor}'", remedy="Choose: observe")
        self._settings = settings
        self._budget = Budget.of(settings.budget)
        mark = fingerprint(system=settings.system, model=settings.llm, voice=settings.voice)
        self._speculation = SPECULATION.make(Spec.parse(settings.speculation), mark=mark)
        self._conversations = count()
        self._learning: asyncio.Task[None] | None = None
        self._yielding, self._decide_ms = _barge_in(settings.barge_in)
        self._ears = ENDPOINTING.make(Spec.parse(settings.endpointing), find_model=find_model, clock=clock)
        self._canceller = canceller_maker(settings.echo)
        self._recognizer = make_recognizer(settings.asr, find_model=find_model, clock=clock)
        self._backend = make_backend(settings.llm, find_model=find_model, clock=clock)
        self._synthesizer = Remembering(
            make_synthesizer(settings.voice, find_model=find_model, clock=clock), clock=clock
        )

    async def warm(self) -> None:
        """Load and exercise every model, so that the first turn is as fast as the tenth. Raises ModelError."""
        # Each has a thread of its own; the first that fails tells why.
        await asyncio.gather(self._ears.warm(), self._recognizer.warm(), self._backend.warm(), self._synthesizer.warm())
        await self._rehearse()
        openers = self._speculation.openers
        for text in () if openers is None else openers.all:
            await self._say(text)
        self._learning = asyncio.create_task(self._learn())

    async def _learn(self) -> None:
        """Say every reply that is known in advance, unheard, so that none has to be synthesised when it is wanted."""
        for reply in self._speculation.replies or ():
            await ready.learn(reply, self._synthesizer)

    async def _rehearse(self) -> None:
        """Answer a few things that people say: the backend takes in the system prompt and learns how its replies begin,
        and the voice has said it once."""
        conversation = self._backend.converse()
        sayings = []
        for text in REHEARSAL:
            if clause := await self._first_clause(conversation, text):
                sayings.append(asyncio.create_task(self._say(clause)))
        await asyncio.gather(*sayings)
        await conversation.aclose()

    async def _first_clause(self, conversation: Conversation, text: str) -> str | None:
        messages = History(self._settings.system).messages_with(text)
        clauses = Clauses()
        async with aclosing(conversation.reply(messages, limits=Limits(max_tokens=12))) as reply:
            async for delta in reply:
                for piece in clauses.feed(delta.text):
                    return speakable(piece)
        return None

    async def _say(self, text: str) -> None:
        async with aclosing(self._synthesizer.speak(text)) as speaking:
            async for _ in speaking:
                pass

    def parts(self) -> Parts:
        """What one conversation needs."""
        return Parts(
            activity=self._ears.listen(),
            endpointing=self._ears.policy(),
            turn_end=self._ears.turn_end(),
            recognizer=self._recognizer,
            backend=self._backend,
            synthesizer=self._synthesizer,
            remembered=self._synthesizer.known,
            learn=self._synthesizer.learn,
            canceller=self._canceller(),
        )

    def policy(self, detection: Mapping[str, Any] | None) -> Endpointing:
        """The endpointing that a Realtime client's ``turn_detection`` names; None leaves the turns to the client."""
        if detection is None:
            return Hangover(hangover_ms=FOR_GOOD_MS)
        if detection["type"] == "server_vad":
            enter = detection["threshold"]
            voicing = Voicing(enter=enter, leave=enter * LEAVE_SHARE)
            return Hangover(hangover_ms=detection["silence_duration_ms"], voicing=voicing)
        return self._ears.policy(patience=PATIENCE[detection["eagerness"]])

    def manner(self) -> Manner:
        """How the agent behaves in the next conversation."""
        settings = self._settings
        return Manner(
            system=settings.system,
            budget=self._budget,
            limits=Limits(max_tokens=settings.max_tokens),
            yielding=self._yielding,
            decide=round(self._decide_ms * MS),
            claims=partial(claim, lexicon=ENGLISH),
            deadline=round(settings.deadline * MS),
            stall=round(settings.stall * MS),
            speculation=replace(self._speculation, first_opener=next(self._conversations)),
        )

    def describe(self) -> dict[str, Any]:
        """Models, versions and policies, for the record of a run."""
        return {
            "llm": {"spec": self._settings.llm, **self._backend.describe()},
            "asr": {"spec": self._settings.asr, **self._recognizer.describe()},
            "voice": {"spec": self._settings.voice, **self._synthesizer.describe()},
            "endpointing": {"spec": self._settings.endpointing, **self._ears.describe()},
            "barge_in": self._settings.barge_in,
            "echo": self._settings.echo,
            "speculation": self._settings.speculation,
            "governor": self._settings.governor,
            "budget": self._budget.to_json(),
            "versions": versions(),
        }

    async def aclose(self) -> None:
        if self._learning is not None:
            self._learning.cancel()
        await self._recognizer.aclose()
        await self._backend.aclose()
        await self._synthesizer.aclose()
        self._ears.close()


def _barge_in(text: str) -> tuple[Yielding, float]:
    """When the agent gives way, and for how long at most it stays silent undecided: ``pause?decide=500``."""
    spec = Spec.parse(text)
    spec.reject_unknown({"decide"})
    try:
        return Yielding(spec.name), spec.number("decide", 500.0)
    except ValueError as error:
        choices = ", ".join(each.value for each in Yielding)
        raise ConfigurationError(f"there is no barge-in '{spec.name}'", remedy=f"Choose: {choices}") from error


def versions() -> dict[str, str | None]:
    """Installed versions of turngap and of what its speed depends on; None where a package is absent."""
    return {name: _version(name) for name in ("turngap", *PACKAGES)}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
