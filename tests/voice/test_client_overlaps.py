"""What becomes of a reply that is spoken over, told by scores at 1 kHz: one sample is one millisecond."""

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.voice.client.overlaps import HeardReply, heard_between, quiet_from_s, replies


def tone(samples: int, level: float = 0.5) -> NDArray[np.float32]:
    return np.full(samples, level, np.float32)


def track(*stretches: tuple[int, int], samples: int = 5000) -> NDArray[np.float32]:
    found = np.zeros(samples, np.float32)
    for start, end in stretches:
        found[start:end] = 0.5
    return found


def test_each_report_has_the_pieces_before_it() -> None:
    first, second = {"turn": 1}, {"turn": 3}
    pieces = [(100, tone(20)), (120, tone(20)), (120, tone(0)), (900, tone(30))]
    found = replies([(0.5, 3, first), (0.6, 3, {"turn": 2}), (1.2, 4, second)], pieces)
    assert [(reply.report, reply.start, len(reply.audio)) for reply in found] == [(first, 100, 40), (second, 900, 30)]


def test_a_break_is_where_playing_stood_still() -> None:
    reply = HeardReply({}, 2.0, ((100, tone(20)), (120, tone(15)), (400, tone(20))))
    assert reply.breaks() == [(135, 400)]


@pytest.mark.parametrize(
    ("onset_s", "quiet_s"),
    [
        (1.0, 1.2),  # it speaks, and stops
        (1.25, 1.25),  # it had stopped by itself
        (2.4, 2.4),  # it makes a pause, and begins again much later
        (2.9, 3.5),  # it goes on at once, all the same
        (4.0, 4.0),  # it has long been silent
    ],
)
def test_when_the_agent_was_quiet(onset_s: float, quiet_s: float) -> None:
    assert quiet_from_s(track((500, 1200), (3000, 3500)), 1000, onset_s) == pytest.approx(quiet_s, abs=0.006)


def test_how_long_the_agent_was_heard() -> None:
    agent = track((500, 1200), (3000, 3500))
    assert heard_between(agent, 1000, 1.0, 3.1) == pytest.approx(0.3, abs=0.01)
    assert heard_between(agent, 1000, 1.3, 2.9) == 0.0
