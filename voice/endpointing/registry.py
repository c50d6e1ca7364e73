"""Endpointing by name.

=========  ==========================================================================================
``fixed``  a fixed hangover
``vad``    silence alone, weighed against the pauses of this speaker
``smart``  and against what a turn-end model thinks of how it sounds
``full``   and against what was said, and what was asked
=========  ==========================================================================================

``fixed?hangover=400``, the others ``full?certainty=0.8&longest=2000``; all ``?enter=0.5&leave=0.35&vad=silero``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from turngap.budget.clock import Clock
from turngap.budget.errors import ConfigurationError
from turngap.llm.spec import Registry, Spec
from turngap.voice.endpointing.energy import EnergyActivity
from turngap.voice.endpointing.english import ENGLISH
from turngap.voice.endpointing.hangover import HANGOVER_MS, Hangover
from turngap.voice.endpointing.protocol import Endpointing, TurnEndModel, VoiceActivity
from turngap.voice.endpointing.voicing import Voicing
from turngap.voice.endpointing.weighing import CERTAINTY, LONGEST_MS, Weighing

if TYPE_CHECKING:
    from turngap.voice.endpointing.smart_turn import SmartTurn as _SmartTurn

WEIGHING: Final = ("vad", "smart", "full")
ASKING: Final = ("smart", "full")


class Ears(Protocol):
    """What all conversations share of hearing: makes the detector and the policy of each."""

    async def warm(self) -> None: ...

    def listen(self) -> VoiceActivity: ...

    def policy(self, *, patience: float = 1.0) -> Endpointing:
        """The policy of a new conversation; with more ``patience`` it waits longer, where it can."""
        ...

    def turn_end(self) -> TurnEndModel | None:
        """For policies that ask; None for those that do not."""
        ...

    def describe(self) -> dict[str, str]: ...

    def close(self) -> None: ...


class OurEars:
    """A voice detector and one of the policies above."""

    def __init__(self, spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> None:
        own = {"hangover"} if spec.name == "fixed" else {"certainty", "longest", "threads"}
        spec.reject_unknown({"enter", "leave", "vad"} | own)
        self._name = spec.name
        self._hangover_ms = spec.number("hangover", HANGOVER_MS)
        self._certainty = spec.number("certainty", CERTAINTY)
        self._longest_ms = spec.number("longest", LONGEST_MS)
        if not 0 < self._certainty < 1:
            raise ConfigurationError(f"certainty={self._certainty:g} is no chance", remedy="Choose from 0.5 to 0.99")
        self._enter = spec.number("enter", 0.5)
        self._leave = spec.number("leave", 0.35)
        self._vad = spec.options.get("vad", "silero")
        self._close: Callable[[], None] = lambda: None
        self._listen: Callable[[], VoiceActivity]
        match self._vad:
            case "energy":
                self._listen = EnergyActivity
            case "silero":
                from turngap.voice.endpointing.silero import Silero

                silero = Silero(find_model("silero-vad"))
                self._listen, self._close = silero.listen, silero.close
            case other:
                raise ConfigurationError(f"there is no voice detector '{other}'", remedy="Choose: silero, energy")
        self._turn_end: _SmartTurn | None = None
        if self._name in ASKING:
            from turngap.voice.endpointing.smart_turn import SmartTurn

            threads = int(spec.number("threads", 2))
            self._turn_end = SmartTurn(find_model("smart-turn-v3.2"), clock=clock, threads=threads)

    async def warm(self) -> None:
        if self._turn_end is not None:
            await self._turn_end.warm()

    def listen(self) -> VoiceActivity:
        return self._listen()

    def policy(self, *, patience: float = 1.0) -> Endpointing:
        voicing = Voicing(enter=self._enter, leave=self._leave)
        if self._name == "fixed":
            return Hangover(hangover_ms=self._hangover_ms * patience, voicing=voicing)
        return Weighing(
            voicing=voicing,
            asks=self._name in ASKING,
            lexicon=ENGLISH if self._name == "full" else None,
            certainty=self._certainty,
            longest_ms=self._longest_ms * patience,
        )

    def turn_end(self) -> TurnEndModel | None:
        return self._turn_end

    def describe(self) -> dict[str, str]:
        own = (
            {"hangover_ms": f"{self._hangover_ms:g}"}
            if self._name == "fixed"
            else {"certainty": f"{self._certainty:g}", "longest_ms": f"{self._longest_ms:g}"}
        )
        return {"policy": self._name, **own, "vad": self._vad}

    def close(self) -> None:
        self._close()
        if self._turn_end is not None:
            self._turn_end.close()


ENDPOINTING: Final = Registry[Ears]("endpointing", "turngap.endpointing", dict.fromkeys(("fixed", *WEIGHING), OurEars))
