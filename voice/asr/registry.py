"""Recognisers by name. An adapter is imported only when it is chosen."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from turngap.budget.clock import Clock
from turngap.budget.errors import ConfigurationError, ModelError
from turngap.llm.spec import Registry, Spec
from turngap.voice.asr.protocol import Recognizer

DEFAULT_MODEL: Final = "whisper-base"


def make_recognizer(choice: str | Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Recognizer:
    """The recogniser that ``choice`` names, not loaded yet. ``find_model`` turns a model's name into its folder.

    Raises ConfigurationError for an unknown name or option, ModelError where the model or its library is missing.
    """
    spec = Spec.parse(choice) if isinstance(choice, str) else choice
    return RECOGNIZERS.make(spec, find_model=find_model, clock=clock)


def _whisper(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Recognizer:
    spec.reject_unknown({"language", "threads", "window", "overlap", "tail", "precision"})
    try:
        from turngap.voice.asr.whisper import LONGEST_S, WhisperOptions, WhisperRecognizer
    except ModuleNotFoundError as error:
        raise ModelError(
            f"whisper needs {error.name}, which is not installed", remedy="Run `pip install 'turngap[local]'`"
        ) from error
    usual = WhisperOptions()
    options = WhisperOptions(
        language=spec.options.get("language", usual.language),
        threads=spec.integer("threads", usual.threads),
        window_s=spec.number("window", usual.window_s),
        overlap_s=spec.number("overlap", usual.overlap_s),
        tail_s=spec.number("tail", usual.tail_s),
        precision=spec.options.get("precision", usual.precision),
    )
    _check(spec, "window", low=1, value=options.window_s, high=LONGEST_S)
    _check(spec, "overlap", low=0.1, value=options.overlap_s, high=LONGEST_S)
    _check(spec, "tail", low=0, value=options.tail_s, high=5)
    if options.precision not in ("int8", "fp16", "fp32"):
        raise ConfigurationError(f"precision={options.precision} is unknown", remedy="Choose: int8, fp16, fp32")
    _check(spec, "threads", low=1, value=options.threads, high=64)
    name = spec.model or DEFAULT_MODEL
    folder = Path(name).expanduser()
    return WhisperRecognizer(
        folder if folder.is_dir() else find_model(name), name=folder.name, options=options, clock=clock
    )


def _scripted(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock) -> Recognizer:
    from turngap.voice.asr.scripted import ScriptedRecognizer

    return ScriptedRecognizer(spec, clock=clock)


def _check(spec: Spec, key: str, *, low: float, value: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigurationError(
            f"option {key}={spec.options.get(key)} of '{spec.name}' is out of range", remedy=f"From {low} to {high}"
        )


RECOGNIZERS: Final = Registry[Recognizer]("recogniser", "turngap.asr", {"scripted": _scripted, "whisper": _whisper})
