"""Log-mel features of a part of some audio that grows: only what a pass needs is computed.

In torch, with faster-whisper's filters: numpy's own matrix product leaves threads behind that spin for work, and the
encoder after it takes twice as long.
"""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

HOP: Final = 160
"""Samples a frame: 10 ms at 16 kHz."""
WINDOW: Final = 400
EDGE_FRAMES: Final = 2
"""So many frames at the beginning of a part hear its mirrored edge instead of the audio before."""
RANGE: Final = 2.0
"""Nothing is quieter than the loudest value less this (80 dB), as Whisper has it."""
QUIET_FRAMES: Final = 25
"""Silence between the audio and the padding, which is zero: louder than silence to the model. A pass at a pause hears
audio that ends 50 ms after the last word; encoded whole in 8 s, with zeros right behind it 12.5 % of the words of 42
read sentences were wrong, with a quarter of a second of the quietest value in between 10.3 %, with no zeros 10.4 %."""


def frames_of(samples: int) -> int:
    """How many frames there are of so much audio."""
    return samples // HOP + 1


def log_mel(audio: NDArray[np.float32], filters: Tensor) -> Tensor:
    """[mels, frames_of(samples)] of all of ``audio``, in Whisper's scale, with nothing cut off below."""
    # One hop of zeros more, so that the last frame is one of all the audio.
    samples = torch.nn.functional.pad(torch.from_numpy(np.ascontiguousarray(audio)), (0, HOP))
    spectrum = torch.stft(samples, WINDOW, HOP, window=torch.hann_window(WINDOW), return_complex=True)
    power = spectrum[:, :-1].abs().square()
    return (filters @ power).clamp_min_(1e-10).log10_().add_(4.0).div_(4.0)


class Features:
    """Features of one stretch of audio, part by part. ``filters`` is [mels, WINDOW // 2 + 1]."""

    def __init__(self, filters: Tensor) -> None:
        self._filters = filters
        self._loudest = float("-inf")

    def part(self, audio: NDArray[np.float32], first: int, last: int) -> Tensor:
        """Frames ``first`` to ``last`` of all of the audio so far, [mels, frames]: zeros before its beginning, padding
        behind its end."""
        begin = max(0, first - EDGE_FRAMES)
        found = log_mel(audio[begin * HOP :], self._filters)[:, max(0, first - begin) : max(0, last - begin)]
        self._loudest = max(self._loudest, float(found.max()))
        quietest = self._loudest - RANGE
        padded = torch.zeros(len(found), last - first)
        at = max(0, -first)
        end = at + found.shape[1]
        padded[:, at:end] = found.clamp_min_(quietest)
        padded[:, end : end + QUIET_FRAMES] = quietest
        return padded
