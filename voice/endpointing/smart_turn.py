"""smart-turn v3: how likely a turn ends with the last seconds of audio, by how they sound.

The model is the encoder of whisper-tiny with a head that attends over its positions (pipecat-ai, BSD-2). It is
published as an ONNX file in int8. onnxruntime multiplies 8-bit activations by 8-bit weights in 16-bit sums, which
saturate on processors with AVX2 and no VNNI: there its answers in the middle of a sentence were 0.35, 0.74 and 0.65
where the same weights in fp32 say 0.05, 0.01 and 0.02. So the weights are read out of the file and run by our own
encoder, whose products keep to 7 bits where that matters.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turngap.budget.clock import Clock
from turngap.budget.errors import ModelError, StageError
from turngap.budget.marks import Span, Stage
from turngap.voice.asr.encoder import FRAMES_PER_POSITION, Encoder
from turngap.voice.asr.features import HOP, RANGE, log_mel
from turngap.voice.endpointing.onnx_weights import read_weights
from turngap.voice.endpointing.protocol import VAD_RATE_HZ

FILE: Final = "smart-turn-v3.2-cpu.onnx"
PULL: Final = "Run: turngap models pull smart-turn-v3.2"
MELS: Final = 80
SECONDS: Final = 8
"""What it was trained on, and the most that it can be given."""
HEARD_S: Final = 4
"""What it is given. Its answers are as good as after 8 s, and there in half the time."""


class SmartTurn:
    """The model, on a thread of its own; serves all conversations, one question after the other."""

    def __init__(
        self, folder: Path, *, clock: Clock, precision: str = "int8", threads: int = 2, heard_s: int = HEARD_S
    ) -> None:
        self._path = folder / FILE
        self._clock = clock
        self._precision = precision
        self._samples = VAD_RATE_HZ * heard_s
        self._thread = ThreadPoolExecutor(1, "smart-turn", initializer=torch.set_num_threads, initargs=(threads,))
        self._loaded: _Loaded | None = None  # touched by that thread only

    async def warm(self) -> None:
        """Load the model and ask it once. Raises ModelError."""
        await asyncio.get_running_loop().run_in_executor(
            self._thread, self.judge_now, np.zeros(self._samples, np.float32)
        )

    async def judge(self, audio: NDArray[np.float32]) -> tuple[float, Span]:
        """The chance that a turn ends with ``audio`` (16 kHz, -1 to 1; its last seconds count), and the work."""
        began = self._clock()
        try:
            probability = await asyncio.get_running_loop().run_in_executor(self._thread, self.judge_now, audio)
        except ModelError as error:
            raise StageError(Stage.ENDPOINTING, "the turn-end model could not be loaded", remedy=str(error)) from error
        except Exception as error:  # torch's errors are RuntimeErrors of every kind
            raise StageError(Stage.ENDPOINTING, f"the turn-end model failed: {error}") from error
        return probability, Span(stage=Stage.ENDPOINTING, start=began, end=self._clock(), what="turn end")

    def judge_now(self, audio: NDArray[np.float32]) -> float:
        """The same, on the calling thread: for recordings, where nobody waits."""
        if self._loaded is None:
            try:
                self._loaded = _Loaded(read_weights(self._path), self._precision, self._samples)
            except Exception as error:  # onnx and protobuf name no common type
                raise ModelError(f"the turn-end model {self._path} cannot be loaded: {error!r}", remedy=PULL) from error
        return self._loaded(audio)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class _Loaded:
    """Encoder and head in memory."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], precision: str, samples: int) -> None:
        from faster_whisper.feature_extractor import FeatureExtractor

        self._samples = samples
        self._positions = samples // HOP // FRAMES_PER_POSITION
        every = "position_encodings/encodings"
        # The audio ends where it did in training: with the last position.
        own = {every: np.ascontiguousarray(weights[every][-self._positions :])}
        self._encoder = Encoder({**weights, **own}, precision=precision)
        self._head = _Head(weights)
        self._filters = torch.from_numpy(FeatureExtractor(MELS).mel_filters)

    @torch.inference_mode()
    def __call__(self, audio: NDArray[np.float32]) -> float:
        padded = np.zeros(self._samples, np.float32)
        recent = audio[-self._samples :]
        padded[self._samples - len(recent) :] = recent
        padded = (padded - padded.mean()) / np.sqrt(padded.var() + 1e-7)
        # Zeros before and after it, as the convolutions were trained with.
        frames = FRAMES_PER_POSITION * self._positions
        features = torch.zeros(MELS, frames + 3)
        heard = log_mel(padded, self._filters)[:, :frames]
        features[:, 2:-1] = heard.clamp_min_(float(heard.max()) - RANGE)
        memory = self._encoder.memory(self._positions)
        encoded = self._encoder.encode(features, memory, first=0, attended=self._positions)
        assert encoded is not None
        return self._head(encoded)


class _Head:
    """Attends over the positions, and decides."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        def linear(name: str) -> Callable[[Tensor], Tensor]:
            weight = torch.from_numpy(np.array(weights[f"{name}/weight"], np.float32))
            bias = torch.from_numpy(np.array(weights[f"{name}/bias"], np.float32))
            return lambda x: functional.linear(x, weight, bias)

        self._score = linear("pool/0"), linear("pool/1")
        self._decide = linear("classifier/0"), linear("classifier/1"), linear("classifier/2")
        self._gamma, self._beta = (
            torch.from_numpy(np.array(weights[f"classifier/norm/{name}"], np.float32)) for name in ("gamma", "beta")
        )

    def __call__(self, encoded: Tensor) -> float:
        hidden, score = self._score
        attention = torch.softmax(score(torch.tanh(hidden(encoded))), dim=0)
        pooled = (attention * encoded).sum(0)
        first, second, last = self._decide
        x = functional.gelu(functional.layer_norm(first(pooled), self._gamma.shape, self._gamma, self._beta))
        return float(torch.sigmoid(last(functional.gelu(second(x)))))
