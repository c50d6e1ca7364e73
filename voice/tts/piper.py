"""Piper, incremental: audio comes while the sentence is still being made.

All work is done on one thread, one chunk at a time, so several conversations take turns by chunks, and a reply that
is no longer wanted costs at most the chunk that is in the works.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, TypeVar

from turngap.budget.clock import MS, Clock, Ns
from turngap.budget.errors import ConfigurationError, ModelError, StageError, TurngapError
from turngap.budget.marks import Span, Stage
from turngap.llm.spec import Spec
from turngap.voice.tts.protocol import Speech
from turngap.voice.tts.vits import REFERENCE, Piece, Style, Voice, read_config

Result = TypeVar("Result")

DEFAULT_MODEL: Final = "piper-joe"

WORTH_TELLING: Final[Ns] = MS
"""A wait for the thread shorter than this is not called a queue."""


class PiperSynthesizer:
    """A Piper voice behind the Synthesizer protocol; loads on :meth:`warm`, or with the first words."""

    def __init__(self, folder: Path, *, clock: Clock, style: Style, threads: int = 1) -> None:
        self._folder = folder
        self._clock = clock
        self._style = style
        self._threads = threads
        self._config = read_config(folder)
        self.rate_hz = int(self._config["audio"]["sample_rate"])
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="piper")
        self._voice: Voice | None = None  # touched by that thread only
        self._timed: bool | None = None
        self._closed = False

    async def warm(self) -> None:
        """Load the voice, set its gain and speak once, unheard, so that the first turn is as fast as the tenth."""
        await self._on_thread(lambda: [len(piece.samples) for piece in self._pieces(REFERENCE)])

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Audio of ``text``, its first piece as soon as something can be heard in it. Raises StageError.

        The span of a piece runs from when it was asked for, the wait for the thread included.
        """
        pieces = self._pieces(text)
        work = "text+encode+decode"
        while True:
            asked = self._clock()
            try:
                piece, began = await self._on_thread(partial(next, pieces, None))
            except ModelError as error:
                raise StageError(Stage.TTS, "the voice could not be loaded", remedy=str(error)) from error
            if piece is None:
                return
            what = f"queue+{work}" if began - asked >= WORTH_TELLING else work
            span = Span(stage=Stage.TTS, start=asked, end=self._clock(), what=what)
            yield Speech(samples=piece.samples, span=span, words=piece.words)
            work = "decode"

    def describe(self) -> dict[str, str]:
        """The voice, its options, and the versions that spoke; once loaded, whether it tells where its words end."""
        told = {"voice": f"piper:{self._folder.name}", "rate_hz": str(self.rate_hz), "threads": str(self._threads)}
        told |= {key: str(value) for key, value in asdict(self._style).items() if value is not None}
        if self._timed is not None:
            told["words"] = "timed" if self._timed else "estimated"
        for package in ("piper-tts", "onnxruntime"):
            with contextlib.suppress(PackageNotFoundError):
                told[package] = version(package)
        return told

    async def aclose(self) -> None:
        """End the thread after the chunk that it is at; asking twice is harmless."""
        self._closed = True
        # What waits is not cancelled: whoever awaits it is told by a StageError, not by a cancellation of its own.
        self._executor.shutdown(wait=False)

    def _pieces(self, text: str) -> Iterator[Piece]:
        """The thread's side of :meth:`speak`; each step is one job of the executor."""
        for piece in self._ready().pieces(text):
            if self._closed:
                raise StageError(Stage.TTS, "the voice was closed while it spoke")
            yield piece

    def _ready(self) -> Voice:
        if self._voice is None:
            voice = Voice(self._folder, self._config, style=self._style, threads=self._threads)
            voice.calibrate()
            self._voice = voice
            self._timed = voice.timed
        return self._voice

    async def _on_thread(self, work: Callable[[], Result]) -> tuple[Result, Ns]:
        """What ``work`` gives, and when it began; foreign errors are translated here and nowhere else."""
        if self._closed:
            raise StageError(Stage.TTS, "the voice is closed")

        def timed() -> tuple[Result, Ns]:
            began = self._clock()
            try:
                return work(), began
            except TurngapError:
                raise
            except Exception as error:  # onnxruntime and espeak name no error types of their own
                raise StageError(Stage.TTS, f"the voice failed ({error})") from error

        return await asyncio.get_running_loop().run_in_executor(self._executor, timed)


def make(spec: Spec, *, find_model: Callable[[str], Path], clock: Clock, **_context: Any) -> PiperSynthesizer:
    """Build it from ``piper[:MODEL][?speed=..&threads=..&noise=..&speaker=..]``; MODEL is a name or a folder."""
    spec.reject_unknown({"speed", "threads", "noise", "speaker"})
    speed = _within(spec, "speed", 1.0, low=0.25, high=4.0)
    noise = _within(spec, "noise", 0.667, low=0.0, high=2.0) if "noise" in spec.options else None
    threads = int(_within(spec, "threads", 2, low=1, high=64))
    model = spec.model or DEFAULT_MODEL
    folder = Path(model).expanduser()
    if not folder.is_dir():
        folder = find_model(model)
    style = Style(speed=speed, noise=noise, speaker=spec.options.get("speaker"))
    return PiperSynthesizer(folder, clock=clock, style=style, threads=threads)


def _within(spec: Spec, key: str, default: float, *, low: float, high: float) -> float:
    value = spec.number(key, default)
    if not low <= value <= high:
        raise ConfigurationError(f"{key}={value:g} is out of range", remedy=f"Choose {low:g} to {high:g}")
    return value
