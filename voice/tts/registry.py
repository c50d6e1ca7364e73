"""Which voices can be chosen by name. Factories load their adapter only when they are called."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from turngap.budget.clock import Clock
from turngap.llm.spec import Registry, Spec
from turngap.voice.tts.protocol import Synthesizer


def _piper(spec: Spec, **context: Any) -> Synthesizer:
    from turngap.voice.tts.piper import make

    return make(spec, **context)


def _tone(spec: Spec, **context: Any) -> Synthesizer:
    from turngap.voice.tts.tone import make

    return make(spec, **context)


VOICES: Final[Registry[Synthesizer]] = Registry("voice", "turngap.tts", {"piper": _piper, "tone": _tone})


def make_synthesizer(choice: str | Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Synthesizer:
    """The voice that ``choice`` names. ``find_model`` gives the folder of a model that was pulled.

    Raises a ConfigurationError for a choice that cannot be, a ModelError for a voice that is not there.
    """
    spec = Spec.parse(choice) if isinstance(choice, str) else choice
    return VOICES.make(spec, find_model=find_model, clock=clock)
