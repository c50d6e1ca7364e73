"""The shipped fake of a voice detector: loud is voice. Costs nothing, needs no model, and is easily fooled."""

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import block_levels


class EnergyActivity:
    """Calls a frame a voice when its level is above ``threshold_db``."""

    def __init__(self, threshold_db: float = -45.0) -> None:
        self._threshold_db = threshold_db

    async def probability(self, frame: NDArray[np.float32]) -> float:
        """1.0 for a loud frame, 0.0 for a quiet one."""
        return 1.0 if block_levels(frame, len(frame))[0] > self._threshold_db else 0.0
