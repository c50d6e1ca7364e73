"""Silero VAD through onnxruntime: the voice detector of a conversation."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from turngap.budget.errors import ModelError, StageError
from turngap.budget.marks import Stage
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, VAD_RATE_HZ

CONTEXT_SAMPLES = 64
"""What the model wants to see of the frame before."""


class Silero:
    """The model, loaded once; :meth:`listen` makes the detector of one conversation."""

    def __init__(self, folder: Path) -> None:
        path = folder / "silero_vad.onnx"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises types of its own for every kind of failure
            raise ModelError(
                f"the voice detector {path} cannot be loaded: {error}", remedy="Run: turngap models pull silero-vad"
            ) from error
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="silero")

    def listen(self) -> "SileroActivity":
        return SileroActivity(self._session, self._thread)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class SileroActivity:
    """Probabilities for the frames of one stream, in order."""

    def __init__(self, session: onnxruntime.InferenceSession, thread: ThreadPoolExecutor) -> None:
        self._session = session
        self._thread = thread
        self._state = np.zeros((2, 1, 128), np.float32)
        self._context = np.zeros(CONTEXT_SAMPLES, np.float32)
        self._rate = np.array(VAD_RATE_HZ, np.int64)

    async def probability(self, frame: NDArray[np.float32]) -> float:
        """The chance that this frame (512 samples, 16 kHz, -1 to 1) holds a voice. Raises StageError."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.probability_now, frame)

    def probability_now(self, frame: NDArray[np.float32]) -> float:
        """The same, on the calling thread: for recordings, where nobody waits."""
        if len(frame) != FRAME_SAMPLES:
            raise ValueError(f"a frame has {FRAME_SAMPLES} samples, not {len(frame)}")
        window = np.concatenate([self._context, frame]).astype(np.float32)[None]
        try:
            output, self._state = self._session.run(None, {"input": window, "state": self._state, "sr": self._rate})
        except Exception as error:
            raise StageError(Stage.ENDPOINTING, f"the voice detector failed: {error}") from error
        self._context = frame[-CONTEXT_SAMPLES:]
        return float(output[0, 0])
