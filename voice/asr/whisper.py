"""Whisper through faster-whisper and CTranslate2, with an encoder window as short as the audio allows.

faster-whisper pads every call to 30 s. CTranslate2 takes shorter features, and the encoder's cost falls with them, so
its model is called directly here; feature extractor, tokenizer and the list of suppressed tokens are faster-whisper's.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import ctranslate2
import numpy as np
import torch
from faster_whisper import WhisperModel
from faster_whisper.tokenizer import Tokenizer
from faster_whisper.transcribe import get_suppressed_tokens
from numpy.typing import NDArray

from turngap.budget.clock import Clock, Ns
from turngap.budget.errors import ModelError, StageError
from turngap.budget.marks import Span, Stage
from turngap.voice.asr.decoder import Decoder, Rules
from turngap.voice.asr.guards import is_silence, token_cap, without_loop
from turngap.voice.asr.protocol import ASR_RATE_HZ, Pass
from turngap.voice.asr.weights import read_weights

SHORTEST_S: Final = 0.1
"""Less audio than this holds no word, and the feature extractor's edges need more than 200 samples."""
LONGEST_S: Final = 30.0
"""What the encoder has positions for; of longer audio only the last 30 s are heard."""
FRAMES_PER_SECOND: Final = 100
PROMPT_TOKENS: Final = 64
QUIET_FRAMES: Final = 25
"""Silence between the audio and the padding, which is zero: louder than silence to the model. A pass at a pause hears
audio that ends 50 ms after the last word; with zeros right behind it 12.5 % of the words were wrong on 42 read
sentences, with a quarter of a second of the quietest value in between 10.3 %, and with no zeros at all 10.4 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhisperOptions:
    """How to listen; the defaults are those that the evaluation script chose on two cores."""

    language: str = "en"
    threads: int = 2
    window_s: float = 8.0
    """Features are padded to this length. Below 8 s the decoder falls into loops."""
    tail_s: float = 1.0
    """... and at least so much beyond the audio, so that its end looks like an end."""
    precision: str = "int8"
    """Of the decoder's products: int8, fp16, fp32."""


class Abandoned(Exception):
    """The pass was cancelled while it ran; nobody sees this."""


class WhisperRecognizer:
    """A Recognizer on one thread. Cancelling :meth:`decode` stops a running pass before its next token."""

    def __init__(self, path: Path, *, name: str, options: WhisperOptions, clock: Clock) -> None:
        self._path = path
        self._name = name
        self._options = options
        self._clock = clock
        # One thread, so passes queue; the queue can't grow beyond one running and one abandoned pass a conversation.
        self._worker = ThreadPoolExecutor(1, "whisper", initializer=torch.set_num_threads, initargs=(1,))
        self._loaded: _Loaded | None = None

    async def warm(self) -> None:
        """Load the model and run it once. Raises ModelError."""
        await asyncio.get_running_loop().run_in_executor(self._worker, self._warm)

    async def decode(self, audio: NDArray[np.float32], *, draft: Sequence[str] = (), prompt: str = "") -> Pass:
        abandoned = threading.Event()
        known = Known(tuple(draft), prompt)
        job = self._worker.submit(self._pass, audio, known, self._clock(), abandoned)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    def describe(self) -> dict[str, str]:
        device, compute_type = _device()
        return {
            "recogniser": "whisper",
            "model": self._name,
            "window_s": str(self._options.window_s),
            "decoder": self._options.precision,
            "threads": str(self._options.threads),
            "language": self._options.language,
            "device": device,
            "compute_type": compute_type,
            "faster_whisper": version("faster-whisper"),
            "ctranslate2": version("ctranslate2"),
        }

    async def aclose(self) -> None:
        """Stop after the running pass and free the model."""
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)
        self._loaded = None

    def _warm(self) -> None:
        loaded = self._load()
        hiss = np.random.default_rng(0).normal(0, 0.01, ASR_RATE_HZ).astype(np.float32)
        for seconds in (1.0, 2.0):
            loaded.generate(loaded.encode(hiss), Known(("Hello",), ""), seconds=seconds, stopped=lambda: False)

    def _load(self) -> "_Loaded":
        if self._loaded is None:
            self._loaded = _Loaded(self._path, self._name, self._options)
        return self._loaded

    def _pass(self, audio: NDArray[np.float32], known: "Known", asked: Ns, abandoned: threading.Event) -> Pass:
        began = self._clock()
        spans = [Span(stage=Stage.ASR, start=asked, end=began, what="queue")]
        if len(audio) < SHORTEST_S * ASR_RATE_HZ:
            return Pass(words=(), spans=tuple(spans))
        try:
            loaded = self._load()
            audio = audio[-round(LONGEST_S * ASR_RATE_HZ) :]
            if abandoned.is_set():
                raise Abandoned
            encoded = loaded.encode(audio)
            encoded_at = self._clock()
            words = loaded.generate(encoded, known, seconds=len(audio) / ASR_RATE_HZ, stopped=abandoned.is_set)
            if abandoned.is_set():
                raise Abandoned
        except (ModelError, Abandoned):
            raise
        except (RuntimeError, ValueError) as error:
            raise StageError(Stage.ASR, f"speech model {self._name} failed") from error
        spans.append(Span(stage=Stage.ASR, start=began, end=encoded_at, what="encode"))
        spans.append(Span(stage=Stage.ASR, start=encoded_at, end=self._clock(), what="decode"))
        return Pass(words=words, spans=tuple(spans))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the text before a pass."""

    draft: tuple[str, ...]
    """Words that the last pass heard in a part of the same audio."""
    prompt: str
    """What was said before."""


class _Loaded:
    """The model in memory; used on the worker's thread alone."""

    def __init__(self, path: Path, name: str, options: WhisperOptions) -> None:
        device, compute_type = _device()
        remedy = "Run `turngap models pull`, or name a folder with a CTranslate2 Whisper model"
        if not (path / "model.bin").is_file():
            raise ModelError(f"there is no Whisper model in {path}", remedy=remedy)
        try:
            self.model: Any = WhisperModel(  # faster-whisper has no types
                str(path), device=device, compute_type=compute_type, cpu_threads=options.threads, local_files_only=True
            )
            self.tokenizer: Any = self._tokenizer(options.language)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"the Whisper model {name} in {path} can't be loaded", remedy=remedy) from error
        self._decoder = Decoder(read_weights(path / "model.bin", "decoder/"), precision=options.precision)
        self._banned = torch.zeros(self._decoder.vocabulary)
        # Whatever is no text: timestamps, languages, tasks, and what faster-whisper suppresses.
        self._banned[self.tokenizer.eot + 1 :] = float("-inf")
        self._banned[list(get_suppressed_tokens(self.tokenizer, [-1]))] = float("-inf")
        self._options = options

    def encode(self, audio: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the encoder makes of ``audio``: [frames, width]."""
        features = self.model.feature_extractor(audio)
        frames = features.shape[1]
        wanted = max(
            round(self._options.window_s * FRAMES_PER_SECOND), frames + round(self._options.tail_s * FRAMES_PER_SECOND)
        )
        wanted = min(wanted, round(LONGEST_S * FRAMES_PER_SECOND))
        missing = max(0, wanted - frames)
        quiet = min(missing, QUIET_FRAMES)
        padded = np.pad(features[:, :wanted], ((0, 0), (0, quiet)), constant_values=float(features.min()))
        padded = np.pad(padded, ((0, 0), (0, missing - quiet)))
        padded = np.ascontiguousarray(padded, np.float32)
        encoded = self.model.model.encode(ctranslate2.StorageView.from_array(padded[None]), to_cpu=True)
        return np.asarray(np.array(encoded, np.float32)[0])

    def generate(
        self, encoded: NDArray[np.float32], known: Known, *, seconds: float, stopped: Callable[[], bool]
    ) -> tuple[str, ...]:
        """The words that the decoder finds in what the encoder made of the audio."""
        tokenizer = self.tokenizer
        previous = self._previous(known.prompt)
        cap = token_cap(seconds)
        rules = Rules(
            begins_at=len(previous),
            banned=self._banned,
            not_first=(tokenizer.eot, *tokenizer.encode(" ")),
            end=tokenizer.eot,
            no_speech=tokenizer.no_speech,
            most=cap,
            stopped=stopped,
        )
        head = [*previous, *tokenizer.sot_sequence, tokenizer.no_timestamps]
        draft = self._encode_text(" ".join(known.draft))
        chosen = self._decoder.choose(self._decoder.hear(encoded), head, draft, rules)
        if is_silence(no_speech=chosen.no_speech, logprob=chosen.logprob):
            return ()
        words = tokenizer.decode(list(chosen.tokens)).split()
        return without_loop(words, cut_off=len(chosen.tokens) >= cap)

    def _previous(self, prompt: str) -> list[int]:
        return [self.tokenizer.sot_prev, *self._encode_text(prompt)[-PROMPT_TOKENS:]] if prompt else []

    def _encode_text(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(f" {text}")) if text else []

    def _tokenizer(self, language: str) -> Any:
        return Tokenizer(
            self.model.hf_tokenizer, self.model.model.is_multilingual, task="transcribe", language=language
        )


def _device() -> tuple[str, str]:
    return ("cuda", "float16") if ctranslate2.get_cuda_device_count() > 0 else ("cpu", "int8")
