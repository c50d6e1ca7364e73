"""WebRTC's echo canceller AEC3, by way of ``livekit``: no network and no server of theirs is used.

It finds delays of up to half a second by itself. Its output lags by two of its blocks, and what is below 90 Hz is lost.
A call takes some tenths of a millisecond at most, and is made on the event loop.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError, StageError
from turngap.budget.marks import Stage
from turngap.voice.audio.echo import BLOCK, ECHO_RATE_HZ, Canceller
from turngap.voice.audio.pcm import from_pcm16, to_pcm16
from turngap.voice.audio.settling import Settling

DELAY: Final = 128
"""8 ms, measured with noise: within half a millisecond from 500 Hz up."""


class Aec3:
    """The canceller of one conversation."""

    delay = DELAY

    def __init__(self) -> None:
        try:
            from livekit.rtc import AudioFrame
            from livekit.rtc.apm import AudioProcessingModule
        except ImportError as error:
            raise ConfigurationError(
                f"echo cancellation needs the package livekit: {error}",
                remedy="Run: pip install 'turngap[echo]', or choose --echo none",
            ) from error
        self._frame = AudioFrame
        # Its noise suppression kept no more of a person over the agent; its gain control would hide levels.
        self._module = AudioProcessingModule(echo_cancellation=True)

    def cancel(self, near: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.float32]:
        heard = self._frame(bytearray(to_pcm16(near)), ECHO_RATE_HZ, 1, BLOCK)
        played = self._frame(bytearray(to_pcm16(far)), ECHO_RATE_HZ, 1, BLOCK)
        try:
            self._module.process_reverse_stream(played)
            self._module.process_stream(heard)
        except RuntimeError as error:
            raise StageError(Stage.ENDPOINTING, f"the echo canceller failed: {error}") from error
        return from_pcm16(bytes(heard.data))


def canceller_maker(choice: str) -> Callable[[], Canceller | None]:
    """What makes the canceller of each conversation: ``none`` or ``cancel``. Raises ConfigurationError, here already
    where the library is missing."""
    match choice:
        case "none":
            return lambda: None
        case "cancel":
            Aec3()
            return lambda: Settling(Aec3())
        case other:
            raise ConfigurationError(f"there is no echo handling '{other}'", remedy="Choose: none, cancel")
