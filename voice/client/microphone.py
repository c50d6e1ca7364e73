"""What the microphone picks up: recordings, and the room's own quiet before, between and after them. Pure."""

import numpy as np
from numpy.typing import NDArray


class Microphone:
    """An endless stream of frames, one column a channel, that holds whatever was loaded last."""

    def __init__(self, *, channels: int, rate_hz: int) -> None:
        self.position = 0
        """Frames picked up so far."""
        self._channels = channels
        self._picked_up: list[NDArray[np.float32]] = []
        self._loaded = np.zeros((0, channels), np.float32)
        self._quiet = np.zeros(rate_hz, np.float32)
        self._quiet_at = 0

    @property
    def speaking(self) -> bool:
        """Whether some of the recording is still to come."""
        return len(self._loaded) > 0

    def load(self, recording: NDArray[np.float32], *, quiet: NDArray[np.float32] | None) -> int:
        """Let ``recording`` follow at once, then the looped ``quiet``; the frame at which it begins."""
        begins = self.position + len(self._loaded)
        self._loaded = np.concatenate([self._loaded, recording])
        if quiet is not None and len(quiet):
            self._quiet, self._quiet_at = quiet, 0
        return begins

    def take(self, frames: int, *, echo: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The next ``frames`` frames, with the ``echo`` that comes from elsewhere into all channels."""
        head, self._loaded = self._loaded[:frames], self._loaded[frames:]
        missing = frames - len(head)
        if missing:
            tone = self._quiet[(self._quiet_at + np.arange(missing)) % len(self._quiet)]
            self._quiet_at = (self._quiet_at + missing) % len(self._quiet)
            head = np.concatenate([head, np.repeat(tone[:, None], self._channels, axis=1)])
        if echo is not None:
            head = head + echo[:, None]
        self.position += frames
        self._picked_up.append(head)
        return head

    def track(self) -> NDArray[np.float32]:
        """All that was picked up, channels averaged."""
        if not self._picked_up:
            return np.zeros(0, np.float32)
        return np.asarray(np.concatenate(self._picked_up).mean(axis=1), np.float32)
