"""How late the event loop is."""

import asyncio

from leap import LeapingLoop, run

from turngap.budget.clock import MS
from turngap.voice.pulse import Pulse


def test_a_loop_that_is_blocked_shows_in_the_tail() -> None:
    loop = LeapingLoop()
    pulse = Pulse(loop.clock)

    async def block() -> None:
        beating = asyncio.create_task(pulse.beat())
        await asyncio.sleep(1)
        loop.stall(40 * MS)
        await asyncio.sleep(0.1)
        beating.cancel()

    run(loop, block())
    figures = pulse.describe()
    assert figures["beats"] > 40  # type: ignore[operator]
    assert figures["p50"] == 0.1
    assert 30 < figures["max"] <= 41  # type: ignore[operator]


def test_before_the_first_beat_nothing_is_known() -> None:
    assert Pulse(lambda: 0).describe() == {"beats": 0, "p50": None, "p99": None, "max": None}
