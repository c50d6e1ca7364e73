"""How the agent's own voice comes back into the microphone: late, through a room, and quieter. Pure."""

import numpy as np
from numpy.typing import NDArray

from turngap.voice.client.conditions import DIRECT


class EchoPath:
    """From a loudspeaker to a microphone at the same rate.

    ``response`` is a room's impulse response. What lies before its direct sound is cut off and its energy is brought to
    one, so that ``delay_s`` and ``level_db`` alone say when, and how loud beside what was played, the echo is.
    """

    def __init__(self, response: NDArray[np.float32], rate_hz: int, *, delay_s: float, level_db: float) -> None:
        magnitude = np.abs(response)
        direct = response[int(np.argmax(magnitude >= DIRECT * magnitude.max())) :].astype(np.float64)
        self._response = direct * 10.0 ** (level_db / 20.0) / np.sqrt(np.sum(np.square(direct)))
        self._delay = round(delay_s * rate_hz)

    @property
    def reach(self) -> int:
        """How many samples before a moment it takes in."""
        return self._delay + len(self._response)

    def of(self, played: NDArray[np.float32]) -> NDArray[np.float32]:
        """The echo of the samples of ``played`` that follow its first :attr:`reach`."""
        samples = len(played) - self.reach
        late = played[: len(played) - self._delay].astype(np.float64)
        size = len(late) + len(self._response)
        spectrum = np.fft.rfft(late, size) * np.fft.rfft(self._response, size)
        echo = np.fft.irfft(spectrum, size)[len(self._response) : len(self._response) + samples]
        return np.asarray(echo, np.float32)
