"""A canceller's first seconds."""

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.voice.audio.echo import BLOCK
from turngap.voice.audio.settling import REHEARSALS, SETTLED, Settling

LOUD = np.full(BLOCK, 0.1, np.float32)
SILENT = np.zeros(BLOCK, np.float32)


class Leaving:
    """Leaves ``share`` of what it hears, at once, and remembers what it was given."""

    delay = 0

    def __init__(self, share: float) -> None:
        self._share = np.float32(share)
        self.given: list[float] = []

    def cancel(self, near: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.float32]:
        self.given.append(float(near[0]))
        return near * self._share


def test_it_rehearses_what_it_has_heard_and_ends_where_it_was() -> None:
    inner = Leaving(1.0)
    settling = Settling(inner)
    for index in range(REHEARSALS[0]):
        settling.cancel(np.full(BLOCK, index, np.float32), LOUD)
    once = [float(index) for index in range(REHEARSALS[0])]
    assert inner.given == once + once


def test_silence_teaches_nothing() -> None:
    inner = Leaving(1.0)
    settling = Settling(inner)
    for _ in range(2 * SETTLED):
        settling.cancel(LOUD, SILENT)
    assert len(inner.given) == 2 * SETTLED


def test_little_that_is_left_is_turned_down_until_it_has_settled() -> None:
    settling = Settling(Leaving(0.1))
    left = [float(settling.cancel(LOUD, LOUD)[0]) for _ in range(SETTLED + 1)]
    assert left[SETTLED - 1] == pytest.approx(0.01 * 10 ** (-40 / 20), rel=0.01)
    assert left[SETTLED] == pytest.approx(0.01)


def test_a_voice_that_is_left_whole_is_not_turned_down() -> None:
    settling = Settling(Leaving(0.9))
    assert [float(settling.cancel(LOUD, LOUD)[0]) for _ in range(50)] == pytest.approx([0.09] * 50)
