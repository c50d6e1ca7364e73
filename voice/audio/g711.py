"""G.711 bytes to float samples and back: mu-law and A-law, as telephony carries speech at 8 kHz. Pure."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE_HZ: Final = 8_000
BIAS: Final = 33
"""Added before the logarithm of mu-law, so that every segment is a power of two long."""


def _ulaw_table() -> NDArray[np.float32]:
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    exponent, mantissa = (code >> 4) & 7, code & 15
    magnitude = ((2 * mantissa + 33) << exponent) - BIAS
    return (np.where(code & 0x80, -magnitude, magnitude) / 8192).astype(np.float32)


def _alaw_table() -> NDArray[np.float32]:
    code = np.arange(256, dtype=np.int32) ^ 0x55
    exponent, mantissa = (code >> 4) & 7, code & 15
    magnitude = np.where(exponent, (2 * mantissa + 33) << np.maximum(exponent - 1, 0), 2 * mantissa + 1)
    return (np.where(code & 0x80, magnitude, -magnitude) / 4096).astype(np.float32)


ULAW: Final = _ulaw_table()
ALAW: Final = _alaw_table()


def _nearest(table: NDArray[np.float32], samples: NDArray[np.float32]) -> bytes:
    """The code of the value that is nearest to each sample."""
    order = np.argsort(table, kind="stable")
    values = table[order]
    edges = (values[:-1] + values[1:]) / 2
    return bytes(order[np.searchsorted(edges, samples, side="left")].astype(np.uint8).tobytes())


def from_ulaw(payload: bytes) -> NDArray[np.float32]:
    """Mono float32, -1 to 1."""
    return ULAW[np.frombuffer(payload, np.uint8)]


def to_ulaw(samples: NDArray[np.float32]) -> bytes:
    """One byte a sample; beyond -1 to 1 it clips."""
    return _nearest(ULAW, samples)


def from_alaw(payload: bytes) -> NDArray[np.float32]:
    """Mono float32, -1 to 1."""
    return ALAW[np.frombuffer(payload, np.uint8)]


def to_alaw(samples: NDArray[np.float32]) -> bytes:
    """One byte a sample; beyond -1 to 1 it clips."""
    return _nearest(ALAW, samples)
