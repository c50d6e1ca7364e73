"""Recordings: reading any of them, and keeping both sides of a conversation on one clock."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError

LOWEST_HZ: Final = 8_000
HIGHEST_HZ: Final = 48_000
RAW_HZ: Final = 16_000
"""Headerless files are taken for mono PCM16 at this rate, as speech corpora keep them."""

SUFFIXES: Final = frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".raw"})


@dataclass(frozen=True, slots=True)
class Recording:
    """Audio as float32, -1 to 1, one column a channel, at a rate that a server accepts."""

    samples: NDArray[np.float32]
    rate_hz: int

    @property
    def channels(self) -> int:
        return int(self.samples.shape[1])

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate_hz

    @property
    def mono(self) -> NDArray[np.float32]:
        """The channels averaged."""
        return np.asarray(self.samples.mean(axis=1), np.float32)


def read(path: Path, *, keep_stereo: bool = False) -> Recording:
    """Read a recording of any rate; channels are averaged, unless there are two of them to be kept.

    Rates outside 8 to 48 kHz are converted. A ConfigurationError names a file that cannot be read or holds nothing.
    """
    try:
        if path.suffix.lower() == ".raw":
            samples = np.frombuffer(path.read_bytes(), "<i2").astype(np.float32)[:, None] / 32768.0
            rate_hz = RAW_HZ
        else:
            samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    except (OSError, ValueError, soundfile.LibsndfileError) as error:
        raise ConfigurationError(
            f"{path} cannot be read as a recording: {error}", remedy="Give a WAV, FLAC, OGG, MP3 or 16 kHz .raw file"
        ) from error
    if not len(samples):
        raise ConfigurationError(f"{path} holds no audio", remedy="Give a recording of at least one word")
    if not (keep_stereo and samples.shape[1] == 2):
        samples = samples.mean(axis=1, keepdims=True)
    wanted_hz = min(max(rate_hz, LOWEST_HZ), HIGHEST_HZ)
    return Recording(np.asarray(resampled(samples, rate_hz, wanted_hz), np.float32), wanted_hz)


def resampled(samples: NDArray[np.float32], from_hz: int, to_hz: int) -> NDArray[np.float32]:
    """The whole of ``samples`` (time first) at another rate, aligned with the original."""
    if from_hz == to_hz:
        return samples
    return np.asarray(soxr.resample(samples, from_hz, to_hz), np.float32)


def write_mono(path: Path, samples: NDArray[np.float32], rate_hz: int) -> None:
    """Write one track as PCM16."""
    soundfile.write(path, np.clip(samples, -1.0, 1.0), rate_hz, subtype="PCM_16")


def write_stereo(path: Path, *, user: NDArray[np.float32], agent: NDArray[np.float32], rate_hz: int) -> None:
    """Write both sides of a conversation on one clock: the user on the left, the agent on the right."""
    both = np.zeros((max(len(user), len(agent)), 2), np.float32)
    both[: len(user), 0] = user
    both[: len(agent), 1] = agent
    soundfile.write(path, np.clip(both, -1.0, 1.0), rate_hz, subtype="PCM_16")
