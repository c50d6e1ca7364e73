"""A room in which nothing happens, known by its level alone, so that no model need be asked about it. Pure.

Most of the time nobody speaks. Where the level has hardly moved for two seconds, and the detector found no voice in
them, whatever is no louder than the loudest moment of that time is the room itself: a voice would have to be 2 dB above
the noise, or less, to hide in it. Music, babble and traffic move by more than that, and are listened to all the time.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

LEARNED_BLOCKS: Final = 200
"""Of 10 ms."""
STEADY_DB: Final = 4.0
"""The loudest block above the usual one: hiss has 2 dB, a fan 3."""
VOICELESS: Final = 0.1
"""What the detector says at most where there is no voice."""


class Stillness:
    """Follows the levels of one stream."""

    def __init__(self) -> None:
        self._levels: deque[float] = deque(maxlen=LEARNED_BLOCKS)

    def holds(self, levels_db: Sequence[float]) -> bool:
        """Whether these blocks are no more than the room's own sound. They then count as learned."""
        known = self._levels
        if len(known) < LEARNED_BLOCKS:
            return False
        loudest = max(known)
        if max(levels_db) > loudest or loudest - sum(known) / LEARNED_BLOCKS > STEADY_DB:
            return False
        known.extend(levels_db)
        return True

    def learn(self, levels_db: Sequence[float], probability: float) -> None:
        """What the detector said of these blocks: with a voice in them one begins anew."""
        if probability > VOICELESS:
            self._levels.clear()
        else:
            self._levels.extend(levels_db)
