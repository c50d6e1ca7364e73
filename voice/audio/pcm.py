"""PCM16 bytes to float samples and back."""

import numpy as np
from numpy.typing import NDArray

FULL_SCALE = 32768.0


def from_pcm16(payload: bytes, channels: int = 1) -> NDArray[np.float32]:
    """Little-endian PCM16 as mono float32, -1 to 1; channels are averaged. The length must be whole frames."""
    samples = np.frombuffer(payload, "<i2").astype(np.float32) / FULL_SCALE
    return samples if channels == 1 else samples.reshape(-1, channels).mean(axis=1)


def to_pcm16(samples: NDArray[np.float32]) -> bytes:
    """Float32, -1 to 1 (beyond that it clips), as little-endian PCM16; several channels as columns."""
    scaled = np.rint(np.clip(samples, -1.0, 1.0) * (FULL_SCALE - 1.0))
    return bytes(scaled.astype("<i2").tobytes())
