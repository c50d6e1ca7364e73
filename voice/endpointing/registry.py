"""Endpointing by name: ``fixed[?hangover=400&enter=0.5&leave=0.35&vad=silero]``."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from turngap.budget.errors import ConfigurationError
from turngap.llm.spec import Registry, Spec
from turngap.voice.endpointing.energy import EnergyActivity
from turngap.voice.endpointing.hangover import HANGOVER_MS, Hangover
from turngap.voice.endpointing.protocol import Endpointing, VoiceActivity


class Ears(Protocol):
    """What all conversations share of hearing: makes the detector and the policy of each."""

    def listen(self) -> VoiceActivity: ...

    def policy(self) -> Endpointing: ...

    def describe(self) -> dict[str, str]: ...

    def close(self) -> None: ...


class FixedEars:
    """A voice detector and a fixed hangover."""

    def __init__(self, spec: Spec, *, find_model: Callable[[str], Path]) -> None:
        spec.reject_unknown({"hangover", "enter", "leave", "vad"})
        self._hangover_ms = spec.number("hangover", HANGOVER_MS)
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

    def listen(self) -> VoiceActivity:
        return self._listen()

    def policy(self) -> Endpointing:
        return Hangover(hangover_ms=self._hangover_ms, enter=self._enter, leave=self._leave)

    def describe(self) -> dict[str, str]:
        return {"policy": "fixed", "hangover_ms": f"{self._hangover_ms:g}", "vad": self._vad}

    def close(self) -> None:
        self._close()


ENDPOINTING: Final = Registry[Ears]("endpointing", "turngap.endpointing", {"fixed": FixedEars})
