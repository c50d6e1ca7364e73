"""How late the event loop is: whatever blocks it delays everybody's audio, and shows nowhere else."""

import asyncio
from collections import Counter
from typing import Final

from turngap.budget.clock import MS, Clock, milliseconds

BEAT: Final = 20 * MS
STEP: Final = MS // 10


class Pulse:
    """A beat every 20 ms, and by how much each was late."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late: Counter[int] = Counter()
        """How many beats were late by so many tenths of a millisecond."""

    async def beat(self) -> None:
        """Beat until cancelled."""
        while True:
            due = self._clock() + BEAT
            await asyncio.sleep(BEAT / 1e9)
            self._late[max(0, self._clock() - due) // STEP] += 1

    def describe(self) -> dict[str, float | int | None]:
        """Percentiles in ms, rounded up to the tenth; None before the first beat."""
        beats = self._late.total()
        return {
            "beats": beats,
            "p50": self._quantile(beats, 0.5),
            "p99": self._quantile(beats, 0.99),
            "max": self._quantile(beats, 1.0),
        }

    def _quantile(self, beats: int, share: float) -> float | None:
        upto = 0
        for step in sorted(self._late):
            upto += self._late[step]
            if upto >= share * beats:
                return milliseconds((step + 1) * STEP)
        return None
