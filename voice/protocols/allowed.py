"""How much of something is allowed in a time: a bucket that fills at an even rate. Pure."""

from turngap.budget.clock import SECOND, Ns


class Allowed:
    """``burst`` at once, and ``rate_hz`` in a second in the long run."""

    def __init__(self, *, rate_hz: float, burst: int) -> None:
        self._rate_hz = rate_hz
        self._burst = float(burst)
        self._left = float(burst)
        self._at: Ns | None = None

    def one_more(self, now: Ns) -> bool:
        """Whether one more is allowed; if it is, it counts."""
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._rate_hz / SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
