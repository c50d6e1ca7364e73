"""The real-time client: speaks recordings into a line as a microphone would, and hears the answer as an ear would.

Packet ``k`` leaves when its last sample "has been captured", on a schedule that never drifts: origin + (k + 1) x 20 ms.
Audio is stamped when it arrives and laid out by :class:`~turngap.voice.client.speaker.Speaker`, so both tracks and
every event share one clock. How late packets really left is kept, since a late client would lengthen every gap.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, Clock, Ns
from turngap.voice.audio.pcm import from_pcm16, to_pcm16
from turngap.voice.client.echo_path import EchoPath
from turngap.voice.client.line import Line, LineError
from turngap.voice.client.microphone import Microphone
from turngap.voice.client.speaker import Speaker

PACKETS_PER_S: Final = 50
EVENTS: Final = ("hypothesis", "turn")
PATIENCE_S: Final = 10.0
LONGEST_REPLY_S: Final = 60.0
DRY_S: Final = 3.0
"""Agents that report no turns have finished once they have been silent for so long."""
NEAR_S: Final = 0.5
"""How far a server's idea of the end of the speech may be off for its turn to count as the one that was waited for."""
SETTLE_S: Final = 1.5
"""A turn that was taken for over in a last short pause is reported early; the one that follows must not be cut off."""
HANG_UP_S: Final = 8.0


@dataclass(frozen=True, slots=True)
class Event:
    """A JSON message of the server, when it came, in seconds of the tracks, and after how many pieces of audio."""

    at_s: float
    body: dict[str, Any]
    pieces: int = 0


class Call:
    """One conversation over a line. What was recorded so far can be read at any time, also after a failure."""

    def __init__(self, line: Line, *, rate_hz: int, channels: int, clock: Clock) -> None:
        self.rate_hz = rate_hz
        self.channels = channels
        self.events: list[Event] = []
        self.lateness: list[Ns] = []
        self.lost: LineError | None = None
        """Why the server hung up, if it was not by way of a goodbye."""
        self.microphone = Microphone(channels=channels, rate_hz=rate_hz)
        self.echo: EchoPath | None = None
        """How the agent's voice comes back into the microphone; not at all through a headset."""
        self._line = line
        self._clock = clock
        self._origin = clock()
        self._speaker = Speaker(rate_hz, origin=self._origin)

    @property
    def user(self) -> NDArray[np.float32]:
        """The user's track."""
        return self.microphone.track()

    @property
    def agent(self) -> NDArray[np.float32]:
        """The agent's track, as a loudspeaker would have played it."""
        return self._speaker.track(samples=self.microphone.position)

    @property
    def played(self) -> list[tuple[int, NDArray[np.float32]]]:
        """The pieces of the agent's track, from which sample on and which samples, as they were played so far."""
        return self._speaker.pieces

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The turns that the server has reported so far."""
        return [event.body for event in self.events if event.body.get("type") == "turn"]

    async def begin(self) -> None:
        """Introduce ourselves, and let the clock of both tracks begin now."""
        start = {"type": "start", "sample_rate": self.rate_hz, "channels": self.channels, "events": list(EVENTS)}
        await self._line.send(json.dumps(start))
        self._origin = self._clock()
        self._speaker = Speaker(self.rate_hz, origin=self._origin)

    def load(self, recording: NDArray[np.float32], *, quiet: NDArray[np.float32] | None) -> float:
        """Have a recording (time first, one column a channel) spoken next, and the looped room tone after it.

        Returns where it begins in the tracks, in seconds.
        """
        return self.microphone.load(recording, quiet=quiet) / self.rate_hz

    async def speak(self, *, since_s: float, patience_s: float = PATIENCE_S) -> None:
        """Speak what was loaded to its end, and stay on the line until its answer has ended.

        ``since_s`` is the end of the speech, in the tracks; it tells which of the server's turns is the answer.
        """
        while self.microphone.speaking:
            await self._send_packet()
        now_s = self._now_s()
        waiting = Waiting(since_s=since_s, patient_until_s=now_s + patience_s, at_most_s=now_s + LONGEST_REPLY_S)
        while not waiting.over(self._now_s(), self.turns, self._silent_from_s()):
            await self._send_packet()

    async def until(self, happened: Callable[[float, float], bool], *, at_most_s: float) -> bool:
        """Go on with what was loaded and the room tone until it ``happened``; False if it did not within ``at_most_s``.

        It is asked before each packet, and told the moment and the one at which all that was queued has been played.
        """
        end_s = self._now_s() + at_most_s
        while not happened(self._now_s(), self._silent_from_s()):
            if self._now_s() >= end_s:
                return False
            await self._send_packet()
        return True

    async def stay_quiet(self, seconds: float) -> None:
        """Let the room tone go on for a while."""
        end = self.microphone.position + round(seconds * self.rate_hz)
        while self.microphone.position < end:
            await self._send_packet()

    async def hear(self) -> None:
        """Take in whatever the server sends until it hangs up. Run beside :meth:`speak`, in a task of its own."""
        try:
            async with aclosing(self._line.messages()) as messages:
                async for message in messages:
                    at = self._clock()
                    if isinstance(message, bytes):
                        self._speaker.play(from_pcm16(message[: len(message) // 2 * 2]), at=at)
                    else:
                        self._note(message, at)
        except LineError as error:
            self.lost = error

    async def hang_up(self) -> None:
        """Tell the server that nothing more will come. It answers by finishing the turn and hanging up."""
        await self._line.send(json.dumps({"type": "end"}))

    def _note(self, message: str, at: Ns) -> None:
        try:
            body = json.loads(message)
        except ValueError:
            body = {"type": "unreadable", "message": message[:200]}
        if not isinstance(body, dict):
            body = {"type": "unreadable", "message": message[:200]}
        if body.get("type") == "clear":
            self._speaker.clear(at=at)
        self.events.append(Event(self._seconds(at), body, len(self._speaker.pieces)))

    async def _send_packet(self) -> None:
        start = self.microphone.position
        index = start * PACKETS_PER_S // self.rate_hz + 1
        end = max(start + 1, -(-index * self.rate_hz // PACKETS_PER_S))
        due = self._origin + end * SECOND // self.rate_hz
        await asyncio.sleep(max(0, due - self._clock()) / SECOND)
        self.lateness.append(self._clock() - due)
        await self._line.send(to_pcm16(self.microphone.take(end - start, echo=self._echo(start, end))))

    def _echo(self, start: int, end: int) -> NDArray[np.float32] | None:
        if self.echo is None:
            return None
        return self.echo.of(self._speaker.between(start - self.echo.reach, end))

    def _silent_from_s(self) -> float:
        return self._seconds(self._speaker.silent_from())

    def _now_s(self) -> float:
        return self._seconds(self._clock())

    def _seconds(self, at: Ns) -> float:
        return (at - self._origin) / SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """When there is no more to hear: a question of times alone, in seconds of the tracks."""

    since_s: float
    """The end of the speech whose answer is waited for."""
    patient_until_s: float
    at_most_s: float

    def over(self, now_s: float, turns: Sequence[Mapping[str, Any]], silent_from_s: float) -> bool:
        """Whether the answer has been heard to its end, or is no longer to be expected."""
        if now_s >= self.at_most_s:
            return True
        if silent_from_s > now_s:
            return False
        answered = silent_from_s > self.since_s
        dry = now_s - silent_from_s > DRY_S
        if any((turn.get("speech_end_s") or 0.0) > self.since_s - NEAR_S for turn in turns):
            return now_s - self.since_s > SETTLE_S
        return dry if answered else now_s >= self.patient_until_s


@asynccontextmanager
async def calling(call: Call) -> AsyncIterator[Call]:
    """The call while it lasts: hears beside the body, and on the way out hangs up and hears the rest.

    Raises LineError if the server hangs up before the body has finished.
    """
    failure: LineError | None = None
    async with asyncio.TaskGroup() as tasks:
        hearing = tasks.create_task(call.hear())
        try:
            await call.begin()
            yield call
            await call.hang_up()
            await asyncio.wait([hearing], timeout=HANG_UP_S)
        except LineError as error:
            failure = error  # raised outside: the group would wrap it in a group of one
        finally:
            hearing.cancel()
    if failure is not None:
        raise failure


def late_ms(lateness: Sequence[Ns]) -> float | None:
    """How late the 95th percentile of the packets left; None if none did."""
    return float(np.percentile(np.array(lateness), 95)) / MS if lateness else None
