"""faster-whisper's model for audio that grows: what a pass before has made of it is not made again.

faster-whisper pads every call to 30 s and encodes and decodes all of it. Its models, feature extractor, tokenizer and
list of suppressed tokens are used here; encoder and decoder are our own, and each of them goes on from the last pass.
"""

import asyncio
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer
from faster_whisper.transcribe import get_suppressed_tokens
from numpy.typing import NDArray
from tokenizers import Tokenizer as Vocabulary
from torch import Tensor

from turngap.budget.clock import Clock, Ns
from turngap.budget.errors import ModelError, StageError
from turngap.budget.marks import Span, Stage
from turngap.voice.asr.decoder import Decoder, Heard, Rules
from turngap.voice.asr.encoder import FRAMES_PER_POSITION, MARGIN, Encoder
from turngap.voice.asr.features import Features, frames_of
from turngap.voice.asr.guards import is_mere_signs, is_silence, token_cap, without_loop
from turngap.voice.asr.protocol import ASR_RATE_HZ, Listener, Pass
from turngap.voice.asr.weights import read_weights, under

SHORTEST_S: Final = 0.1
"""Less audio than this holds no word, and the feature extractor's edges need more than 200 samples."""
LONGEST_S: Final = 14.0
"""Of longer audio only so much of its end is heard; pacing ends a segment before."""
POSITIONS_PER_SECOND: Final = 50
MULTILINGUAL: Final = 51_865
"""Tokens from which on a vocabulary has languages."""
PROMPT_TOKENS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WhisperOptions:
    """How to listen; the defaults are those that the evaluation script chose on two cores."""

    language: str = "en"
    threads: int = 2
    window_s: float = 12.0
    """At least so much is attended to, audio and padding."""
    overlap_s: float = 2.0
    """So much of what was encoded is encoded again when there is more of it ..."""
    tail_s: float = 1.0
    """... and so much of the padding."""
    precision: str = "int8"
    """Of the products: int8, fp16, fp32."""


class Abandoned(Exception):
    """The pass was cancelled while it ran; nobody sees this."""


class WhisperRecognizer:
    """A Recognizer on one thread. Cancelling a pass stops it before its next layer or token."""

    def __init__(self, path: Path, *, name: str, options: WhisperOptions, clock: Clock) -> None:
        self._path = path
        self._name = name
        self._options = options
        self._clock = clock
        # One thread, so passes queue; the queue can't grow beyond one running and one abandoned pass a conversation.
        self._worker = ThreadPoolExecutor(1, "whisper", initializer=torch.set_num_threads, initargs=(options.threads,))
        self._loaded: _Loaded | None = None

    async def warm(self) -> None:
        """Load the model and run it once. Raises ModelError."""
        await asyncio.get_running_loop().run_in_executor(self._worker, self._warm)

    def listen(self) -> Listener:
        return _Listener(self)

    async def decode(self, stretch: "_Stretch", audio: NDArray[np.float32], known: "Known") -> Pass:
        """One pass over all of the audio of ``stretch`` so far."""
        abandoned = threading.Event()
        job = self._worker.submit(self._pass, stretch, audio, known, self._clock(), abandoned)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    def describe(self) -> dict[str, str]:
        options = self._options
        return {
            "recogniser": "whisper",
            "model": self._name,
            "window_s": str(options.window_s),
            "overlap_s": str(options.overlap_s),
            "tail_s": str(options.tail_s),
            "precision": options.precision,
            "threads": str(options.threads),
            "language": options.language,
            "faster_whisper": version("faster-whisper"),
            "torch": version("torch"),
        }

    async def aclose(self) -> None:
        """Stop after the running pass and free the model."""
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)
        self._loaded = None

    def _warm(self) -> None:
        loaded = self._load()
        stretch = _Stretch(0)
        for seconds in (1.0, 1.5, 2.0):
            loaded.hear(stretch, hiss(seconds), stopped=lambda: False)
            loaded.generate(stretch, Known(("Hello",), ""), seconds=seconds, stopped=lambda: False)

    def _load(self) -> "_Loaded":
        if self._loaded is None:
            self._loaded = _Loaded(self._path, self._name, self._options)
        return self._loaded

    def _pass(
        self, stretch: "_Stretch", audio: NDArray[np.float32], known: "Known", asked: Ns, abandoned: threading.Event
    ) -> Pass:
        began = self._clock()
        spans = [Span(stage=Stage.ASR, start=asked, end=began, what="queue")]
        if len(audio) < SHORTEST_S * ASR_RATE_HZ:
            return Pass(words=(), spans=tuple(spans))
        try:
            loaded = self._load()
            loaded.hear(stretch, audio, stopped=abandoned.is_set)
            encoded_at = self._clock()
            if abandoned.is_set():
                raise Abandoned
            words, sure = loaded.generate(stretch, known, seconds=len(audio) / ASR_RATE_HZ, stopped=abandoned.is_set)
            if abandoned.is_set():
                raise Abandoned
        except (ModelError, Abandoned):
            raise
        except (RuntimeError, ValueError) as error:
            raise StageError(Stage.ASR, f"speech model {self._name} failed") from error
        spans.append(Span(stage=Stage.ASR, start=began, end=encoded_at, what="encode"))
        spans.append(Span(stage=Stage.ASR, start=encoded_at, end=self._clock(), what="decode"))
        return Pass(words=words, sure=sure, spans=tuple(spans))


class _Listener:
    """A Listener. It keeps what the encoder made of one stretch; another start begins another one."""

    def __init__(self, recognizer: WhisperRecognizer) -> None:
        self._recognizer = recognizer
        self._stretch = _Stretch(0)

    async def decode(
        self, audio: NDArray[np.float32], *, start: int = 0, draft: Sequence[str] = (), prompt: str = ""
    ) -> Pass:
        surplus = max(0, len(audio) - round(LONGEST_S * ASR_RATE_HZ))
        if start + surplus != self._stretch.start or len(audio) < self._stretch.samples:
            self._stretch = _Stretch(start + surplus)
        return await self._recognizer.decode(self._stretch, audio[surplus:], Known(tuple(draft), prompt))


class _Stretch:
    """Audio that grows, and what was made of it. Beyond its start it is used on the worker's thread alone."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.samples = 0
        """Of the longest pass so far."""
        self.features: Features | None = None
        self.memory: Tensor | None = None
        self.heard: Heard | None = None


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
        remedy = "Run `turngap models pull`, or name a folder with a CTranslate2 Whisper model"
        if not (path / "model.bin").is_file():
            raise ModelError(f"there is no Whisper model in {path}", remedy=remedy)
        weights = read_weights(path / "model.bin")
        try:
            self._encoder = Encoder(under(weights, "encoder/"), precision=options.precision)
            self._decoder = Decoder(under(weights, "decoder/"), precision=options.precision)
            mels = weights["encoder/conv1/weight"].shape[1]
            self._filters = torch.from_numpy(FeatureExtractor(mels).mel_filters)
            self.tokenizer: Any = self._tokenizer(path, options.language)
        except (KeyError, RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"the Whisper model {name} in {path} can't be loaded", remedy=remedy) from error
        self._banned = torch.zeros(self._decoder.vocabulary)
        # Whatever is no text: timestamps, languages, tasks, and what faster-whisper suppresses.
        self._banned[self.tokenizer.eot + 1 :] = float("-inf")
        self._banned[list(get_suppressed_tokens(self.tokenizer, [-1]))] = float("-inf")
        self._window = positions(options.window_s)
        self._overlap = positions(options.overlap_s)
        self._tail = positions(options.tail_s)
        self._longest = min(positions(LONGEST_S) + self._tail, self._encoder.longest)
        self._memory = self._encoder.memory(self._longest)
        self._cross = self._decoder.memory(self._longest)
        self._encode_padding()

    def _encode_padding(self) -> None:
        """Fill the memories that every stretch begins with."""
        audio = hiss(2.0)
        features = Features(self._filters).part(audio, -MARGIN, self._longest * FRAMES_PER_POSITION + 1)
        encoded = self._encoder.encode(features, self._memory, first=0, attended=self._longest)
        assert encoded is not None
        self._decoder.hear(encoded, self._cross, first=0)

    def hear(self, stretch: _Stretch, audio: NDArray[np.float32], *, stopped: Callable[[], bool]) -> None:
        """Encode what is new in ``audio``, unless stopped."""
        if stretch.features is None or stretch.memory is None or stretch.heard is None:
            stretch.features = Features(self._filters)
            stretch.memory = self._memory.clone()
            stretch.heard = self._decoder.listen(self._cross.clone())
        if stopped():
            return
        first = max(0, _last_position(stretch.samples) - self._overlap)
        last = min(_last_position(len(audio)) + self._tail, self._longest)
        attended = min(max(self._window, last + self._tail), self._longest)
        features = stretch.features.part(audio, first * FRAMES_PER_POSITION - MARGIN, last * FRAMES_PER_POSITION + 1)
        encoded = self._encoder.encode(features, stretch.memory, first=first, attended=attended, stopped=stopped)
        if encoded is None:
            return
        self._decoder.hear(encoded, stretch.heard.cross, first=first)
        stretch.heard.attended = attended
        stretch.samples = len(audio)

    def generate(
        self, stretch: _Stretch, known: Known, *, seconds: float, stopped: Callable[[], bool]
    ) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """The words that the decoder finds in what was heard, and how sure it is of each."""
        assert stretch.heard is not None
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
        chosen = self._decoder.choose(stretch.heard, head, draft, rules)
        if is_silence(no_speech=chosen.no_speech, logprob=chosen.logprob):
            return (), ()
        words = tokenizer.decode(list(chosen.tokens)).split()
        if is_mere_signs(words):
            return (), ()
        kept = without_loop(words, cut_off=len(chosen.tokens) >= cap)
        sure = by_word([tokenizer.decode([token]) for token in chosen.tokens], chosen.logprobs)
        return kept, sure[: len(kept)] if len(sure) == len(words) else ()

    def _previous(self, prompt: str) -> list[int]:
        return [self.tokenizer.sot_prev, *self._encode_text(prompt)[-PROMPT_TOKENS:]] if prompt else []

    def _encode_text(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(f" {text}")) if text else []

    def _tokenizer(self, path: Path, language: str) -> Any:
        multilingual = self._decoder.vocabulary >= MULTILINGUAL
        vocabulary = Vocabulary.from_file(str(path / "tokenizer.json"))
        return Tokenizer(vocabulary, multilingual, task="transcribe", language=language)


def by_word(pieces: Sequence[str], logprobs: Sequence[float]) -> tuple[float, ...]:
    """How likely each word is: as likely as the least likely of its pieces, the first of which begins with a space."""
    sure: list[float] = []
    for piece, logprob in zip(pieces, logprobs, strict=False):
        if piece.startswith(" ") or not sure:
            sure.append(1.0)
        sure[-1] = min(sure[-1], math.exp(logprob))
    return tuple(sure)


def positions(seconds: float) -> int:
    return round(seconds * POSITIONS_PER_SECOND)


def _last_position(samples: int) -> int:
    return -(-frames_of(samples) // FRAMES_PER_POSITION)


def hiss(seconds: float) -> NDArray[np.float32]:
    """A quiet room, not silence: behind digital silence the encoder makes other padding, and the words suffer."""
    return np.random.default_rng(0).normal(0, 0.002, round(seconds * ASR_RATE_HZ)).astype(np.float32)
