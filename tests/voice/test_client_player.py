"""The real-time client on a loop whose time leaps: a scripted agent answers on the millisecond."""

import asyncio
import json
import selectors
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND
from turngap.voice.audio.pcm import to_pcm16
from turngap.voice.client.heard import listen
from turngap.voice.client.line import LineError
from turngap.voice.client.microphone import Microphone
from turngap.voice.client.player import Call, Waiting, calling, late_ms
from turngap.voice.client.truth import Utterance

RATE_HZ = 16_000


class LeapingLoop(asyncio.SelectorEventLoop):
    """A loop that never waits: when all tasks sleep, its time leaps to the first that wakes."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self.leapt = 0.0

    def time(self) -> float:
        return self.leapt

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.leapt = max(self.leapt, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def leap(story: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.run(story)


def now() -> int:
    # Whole microseconds: the loop's time is a float, and its last digits are nobody's measurement.
    return round(asyncio.get_running_loop().time() * 1e6) * 1000


class ScriptedLine:
    """An agent that answers ``wait_ms`` after the packet that ends at ``end_ms`` has come."""

    def __init__(self, *, end_ms: int, wait_ms: int, reply_ms: int = 400, report: bool = True) -> None:
        self.sent: list[tuple[int, bytes | str]] = []
        self.samples = 0
        self._end = end_ms * RATE_HZ // 1000
        self._wait_ms, self._reply_ms, self._report = wait_ms, reply_ms, report
        self._ended = asyncio.Event()
        self._over = asyncio.Event()

    async def send(self, message: bytes | str) -> None:
        self.sent.append((now(), message))
        if isinstance(message, bytes):
            self.samples += len(message) // 2
            if self.samples >= self._end:
                self._ended.set()
        elif json.loads(message)["type"] == "end":
            self._over.set()

    async def messages(self) -> AsyncGenerator[bytes | str, None]:
        await self._ended.wait()
        await asyncio.sleep(self._wait_ms / 1000)
        for _ in range(self._reply_ms // 100):
            yield to_pcm16(np.full(RATE_HZ // 10, 0.1, np.float32))
        if self._report:
            await asyncio.sleep(self._reply_ms / 1000)
            yield json.dumps({"type": "turn", "turn": 1, "speech_end_s": self._end / RATE_HZ})
        await self._over.wait()


def recording(seconds: float) -> NDArray[np.float32]:
    return np.full((round(seconds * RATE_HZ), 1), 0.05, np.float32)


async def converse(line: ScriptedLine, *, seconds: float, since_s: float, patience_s: float = 10.0) -> Call:
    call = Call(line, rate_hz=RATE_HZ, channels=1, clock=now)
    async with calling(call):
        call.load(recording(seconds), quiet=None)
        await call.speak(since_s=since_s, patience_s=patience_s)
    return call


@pytest.mark.parametrize("wait_ms", [0, 137, 480])
def test_the_heard_gap_is_exact_to_the_sample(wait_ms: int) -> None:
    async def story() -> None:
        call = await converse(ScriptedLine(end_ms=1000, wait_ms=wait_ms), seconds=3.0, since_s=1.0)
        (turn,) = listen(call.agent, RATE_HZ, [Utterance(start_s=0.0, end_s=1.0)])
        assert turn.gap_ms == pytest.approx(wait_ms, abs=1000 / RATE_HZ)

    leap(story())


def test_packets_leave_when_their_last_sample_has_been_captured() -> None:
    async def story() -> None:
        line = ScriptedLine(end_ms=1000, wait_ms=100)
        call = await converse(line, seconds=2.0, since_s=1.0)
        packets = [(at, message) for at, message in line.sent if isinstance(message, bytes)]
        assert [at for at, _ in packets] == [(index + 1) * 20 * MS for index in range(len(packets))]
        assert {len(message) for _, message in packets} == {640}
        assert late_ms(call.lateness) == 0.0

    leap(story())


def test_it_introduces_itself_and_says_goodbye() -> None:
    async def story() -> None:
        line = ScriptedLine(end_ms=1000, wait_ms=100)
        await converse(line, seconds=2.0, since_s=1.0)
        spoken = [json.loads(message) for _, message in line.sent if isinstance(message, str)]
        start = {"type": "start", "sample_rate": RATE_HZ, "channels": 1, "events": ["hypothesis", "turn"]}
        assert spoken == [start, {"type": "end"}]

    leap(story())


def test_it_goes_on_sending_until_the_reply_has_ended() -> None:
    async def story() -> None:
        line = ScriptedLine(end_ms=1000, wait_ms=500, reply_ms=2000)
        call = await converse(line, seconds=1.0, since_s=1.0)
        assert len(call.user) / RATE_HZ == pytest.approx(1.0 + 0.5 + 2.0, abs=0.02)  # and the packet under way
        assert np.all(call.user[RATE_HZ:] == 0)

    leap(story())


def test_an_agent_that_never_answers_is_waited_for_and_then_left() -> None:
    async def story() -> None:
        call = await converse(ScriptedLine(end_ms=99_000, wait_ms=0), seconds=1.0, since_s=1.0, patience_s=2.0)
        assert len(call.user) == 3 * RATE_HZ
        assert not np.any(call.agent)

    leap(story())


def test_an_agent_that_reports_no_turns_has_finished_when_it_has_been_silent_long_enough() -> None:
    async def story() -> None:
        line = ScriptedLine(end_ms=1000, wait_ms=500, reply_ms=1000, report=False)
        call = await converse(line, seconds=1.0, since_s=1.0)
        assert len(call.user) / RATE_HZ == pytest.approx(2.5 + 3.0, abs=0.05)

    leap(story())


def test_a_server_that_hangs_up_is_an_error_and_what_was_recorded_stays() -> None:
    class Hangs(ScriptedLine):
        async def send(self, message: bytes | str) -> None:
            if now() >= SECOND // 2:
                raise LineError("the server hung up")
            await super().send(message)

    async def story() -> None:
        call = Call(Hangs(end_ms=1000, wait_ms=0), rate_hz=RATE_HZ, channels=1, clock=now)

        async def talk() -> None:
            async with calling(call):
                call.load(recording(2.0), quiet=None)
                await call.speak(since_s=1.0)

        with pytest.raises(LineError):
            await talk()
        assert len(call.user) >= 0.48 * RATE_HZ

    leap(story())


def test_a_clear_drops_what_has_not_played() -> None:
    class Clears(ScriptedLine):
        async def messages(self) -> AsyncGenerator[bytes | str, None]:
            await self._ended.wait()
            yield to_pcm16(np.full(RATE_HZ, 0.1, np.float32))
            await asyncio.sleep(0.25)
            yield json.dumps({"type": "clear"})
            yield "not JSON"
            yield "[1]"
            yield json.dumps({"type": "turn", "turn": 1, "speech_end_s": 1.0})

    async def story() -> None:
        call = await converse(Clears(end_ms=1000, wait_ms=0), seconds=1.0, since_s=1.0)
        assert np.count_nonzero(call.agent) == RATE_HZ // 4
        assert [event.body["type"] for event in call.events] == ["clear", "unreadable", "unreadable", "turn"]

    leap(story())


def test_packets_of_odd_rates_neither_drift_nor_lose_a_sample() -> None:
    async def story() -> None:
        line = ScriptedLine(end_ms=10**9, wait_ms=0)
        call = Call(line, rate_hz=11_025, channels=1, clock=now)
        async with calling(call):
            await call.stay_quiet(10.0)
        assert call.microphone.position == line.samples == 110_250
        assert max(call.lateness) < 1000

    leap(story())


TURN = [{"speech_end_s": 4.9}]


@pytest.mark.parametrize(
    ("now_s", "turns", "silent_from_s", "over"),
    [
        (6.0, [], 0.0, False),  # nothing yet
        (15.0, [], 0.0, True),  # out of patience
        (6.2, TURN, 6.1, False),  # reported, but too soon after the end for it to be the last word
        (6.6, TURN, 6.1, True),
        (6.6, TURN, 7.0, False),  # still to be heard
        (6.6, [{"speech_end_s": 3.0}], 6.1, False),  # that was an earlier turn
        (6.6, [{"speech_end_s": None}], 6.1, False),
        (9.0, [], 6.1, False),  # heard, unreported: maybe there is more
        (9.2, [], 6.1, True),
        (16.0, [], 15.5, False),  # heard late: not cut off
        (60.0, [], 61.0, True),  # an agent that never stops
    ],
)
def test_the_answer_is_over(now_s: float, turns: list[dict[str, Any]], silent_from_s: float, over: bool) -> None:
    waiting = Waiting(since_s=5.0, patient_until_s=15.0, at_most_s=60.0)
    assert waiting.over(now_s, turns, silent_from_s) is over


def test_the_microphone_goes_on_with_the_rooms_own_quiet() -> None:
    microphone = Microphone(channels=2, rate_hz=RATE_HZ)
    quiet = np.array([0.1, 0.2, 0.3], np.float32)
    begins = microphone.load(np.ones((4, 2), np.float32), quiet=quiet)
    taken = [microphone.take(3), microphone.take(6)]
    assert begins == 0
    assert taken[0].tolist() == [[1, 1]] * 3
    assert taken[1][:, 1].tolist() == np.array([1, 0.1, 0.2, 0.3, 0.1, 0.2], np.float32).tolist()
    assert microphone.position == len(microphone.track()) == 9
    assert microphone.load(np.ones((1, 2), np.float32), quiet=None) == 9
