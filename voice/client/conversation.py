"""One conversation of a run: clips spoken over one line, kept as tracks, events and records, whatever happens."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from turngap.budget.clock import Clock
from turngap.budget.report.record import TurnRecord
from turngap.voice.client.clips import Ready
from turngap.voice.client.line import LineError, dial
from turngap.voice.client.measure import Asked, failed, measure
from turngap.voice.client.player import PATIENCE_S, Call, calling
from turngap.voice.client.recording import write_stereo
from turngap.voice.client.truth import Utterance

BETWEEN_S: Final = 1.0
"""Between an answer and the user's next turn in one conversation."""


class Conversation:
    """Clips to be spoken in one conversation. :meth:`records` has one for each turn, also after a failure."""

    def __init__(self, clips: Sequence[Ready]) -> None:
        self.clips = clips
        self.call: Call | None = None
        self.stopped = False
        self.failure: str | None = None
        self._asked: list[Asked] = []
        self._spoken = 0

    @property
    def name(self) -> str:
        return self.clips[0].clip.name

    async def hold(self, url: str, *, clock: Clock, token: str | None = None, patience_s: float = PATIENCE_S) -> None:
        """Speak all clips, in real time. What goes wrong with the line is kept, not raised."""
        first = self.clips[0].recording
        try:
            async with dial(url, token=token) as line:
                self.call = Call(line, rate_hz=first.rate_hz, channels=first.channels, clock=clock)
                async with calling(self.call):
                    for clip in self.clips:
                        await self._speak(self.call, clip, patience_s)
        except LineError as error:
            self.failure = str(error)
        except asyncio.CancelledError:
            self.stopped = True
            raise
        if self.call is not None and self.call.lost is not None:
            self.failure = str(self.call.lost)

    def records(self) -> list[TurnRecord]:
        """The turns so far. Those that a failure kept from being spoken or heard carry its reason."""
        if self.call is None:
            return [] if self.stopped else self._never_spoken(1)
        measured = measure(self._asked, agent=self.call.agent, rate_hz=self.call.rate_hz, turns=self.call.turns)
        if self.stopped:
            return [turn for turn in measured if turn.answered]
        kept = [self._reasoned(turn) for turn in measured]
        return kept + self._never_spoken(len(kept) + 1)

    def save(self, folder: Path, stem: str) -> None:
        """Keep both tracks as a stereo WAV, and events and records as JSON beside it."""
        if self.call is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        call = self.call
        write_stereo(folder / f"{stem}.wav", user=call.user, agent=call.agent, rate_hz=call.rate_hz)
        write_json(
            folder / f"{stem}.json",
            {
                "failure": self.failure,
                "users": [asdict(asked) for asked in self._asked],
                "turns": [turn.to_json() for turn in self.records()],
                "events": [{"at_s": round(event.at_s, 4), **event.body} for event in call.events],
            },
        )

    async def _speak(self, call: Call, ready: Ready, patience_s: float) -> None:
        if self._spoken:
            await call.stay_quiet(BETWEEN_S)
        samples = ready.at_rate(call.rate_hz, call.channels)
        begins_s = call.load(samples, quiet=ready.quiet_at_rate(call.rate_hz))
        self._asked += [asked(ready, number, begins_s) for number in range(len(ready.users))]
        self._spoken += 1
        await call.speak(since_s=begins_s + (ready.speech_end_s or ready.recording.seconds), patience_s=patience_s)

    def _never_spoken(self, number: int) -> list[TurnRecord]:
        reason = self.failure or "it was not reached"
        return [
            failed(ready.clip.name, reason, number=number + index, file=str(ready.clip.path), reference=ready.clip.text)
            for index, ready in enumerate(self.clips[self._spoken :])
        ]

    def _reasoned(self, turn: TurnRecord) -> TurnRecord:
        if turn.answered or self.failure is None or turn.turn < len(self._asked):
            return turn
        return failed(turn.name, self.failure, number=turn.turn, file=turn.file, reference=turn.reference)


def asked(ready: Ready, number: int, begins_s: float) -> Asked:
    """The ``number``-th (from 0) of a clip's turns, where it stands in the tracks."""
    user, clip = ready.users[number], ready.clip
    return Asked(
        name=clip.name if len(ready.users) == 1 else f"{clip.name} #{number + 1}",
        user=Utterance(start_s=begins_s + user.start_s, end_s=begins_s + user.end_s, labelled=user.labelled),
        file=str(clip.path),
        reference=clip.text if len(ready.users) == 1 else None,
    )


def write_json(path: Path, content: Any) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    partial.replace(path)
