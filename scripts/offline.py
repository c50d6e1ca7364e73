"""A conversation's hearing without a conversation, faster than real time. For the evaluation scripts.

Audio goes the way it goes in a session: packets to the voice detector and the endpointing policy, onsets and pauses to
the turn machine, what it asks for to the recogniser. The clock is the audio's own: passes take no time, so what is
heard does not depend on the machine. A turn that is committed counts as a reply, and is over at once, so that the next
sound finds us listening.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turngap.budget.clock import SECOND, Ns, monotonic
from turngap.budget.ledger import Outcome
from turngap.llm.spec import Spec
from turngap.voice.asr.incremental import Transcription
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.asr.registry import make_recognizer
from turngap.voice.asr.stable import Hypothesis
from turngap.voice.audio.level import SILENCE_DB
from turngap.voice.audio.pcm import from_pcm16, to_pcm16
from turngap.voice.effects import BeginTurn, Commit, Effect, EndTurn, GoOn, Transcribe
from turngap.voice.endpointing.protocol import (
    FRAME_SAMPLES,
    VAD_RATE_HZ,
    Ask,
    Evidence,
    Fading,
    Floor,
    Frame,
    Onset,
    Pause,
    Reconsidered,
    TurnEnd,
    Words,
)
from turngap.voice.endpointing.registry import ENDPOINTING, Ears
from turngap.voice.events import AudioEnded, AudioStarted, EndpointMoved, Event, Heard, SpeechPaused, SpeechStarted
from turngap.voice.hearing import Hearing
from turngap.voice.listening import VOICED
from turngap.voice.session import JUDGED_SAMPLES, PREROLL_SAMPLES
from turngap.voice.settings import Settings
from turngap.voice.turn import TurnMachine

PACKETS_PER_S = 50
QUIET_S = 0.5
AFTER_S = 2.0
QUIET_RMS = 0.0005
"""-66 dBFS of hiss before and after every recording: a line that is open, and time for the endpoint."""


@dataclass(slots=True)
class Turn:
    """One turn as it was heard; times in seconds of the recording."""

    start_s: float
    end_s: float = math.nan
    text: str = ""
    replied: bool = False


@dataclass(slots=True)
class Heeded:
    """What became of one recording."""

    name: str
    seconds: float
    voiced_s: float = 0.0
    turns: list[Turn] = field(default_factory=list)

    @property
    def replies(self) -> int:
        return sum(turn.replied for turn in self.turns)

    @property
    def text(self) -> str:
        return " ".join(turn.text for turn in self.turns if turn.replied)


class Ear:
    """The models of ``turngap serve``, as its settings choose them."""

    def __init__(self, settings: Settings, *, find_model: Callable[[str], Path]) -> None:
        self.ears: Ears = ENDPOINTING.make(Spec.parse(settings.endpointing), find_model=find_model, clock=monotonic)
        self.recognizer: Recognizer = make_recognizer(settings.asr, find_model=find_model, clock=monotonic)

    async def hear(self, name: str, samples: NDArray[np.float32], rate_hz: int) -> Heeded:
        """Listen to a recording from beginning to end."""
        return await _Listening(self, name, samples, rate_hz).run()

    async def aclose(self) -> None:
        self.ears.close()
        await self.recognizer.aclose()


class _Listening:
    """One recording being heard."""

    def __init__(self, ear: Ear, name: str, samples: NDArray[np.float32], rate_hz: int) -> None:
        quiet = np.random.default_rng(0).normal(0, QUIET_RMS, round((QUIET_S + AFTER_S) * rate_hz)).astype(np.float32)
        before = round(QUIET_S * rate_hz)
        self._audio = from_pcm16(to_pcm16(np.concatenate([quiet[:before], samples, quiet[before:]])))
        self._rate_hz = rate_hz
        self._recognizer = ear.recognizer
        self._now: Ns = 0
        self._endpointing = ear.ears.policy()
        self._turn_end = ear.ears.turn_end()
        self._hearing = Hearing(rate_hz, ear.ears.listen(), self._endpointing, lambda: self._now)
        self._machine = TurnMachine()
        self._onset = self._speech_end = 0
        self._transcription: Transcription | None = None
        self._listener = ear.recognizer.listen()
        self._heeded = Heeded(name, len(samples) / rate_hz)

    async def run(self) -> Heeded:
        for end in range(0, len(self._audio), max(1, self._rate_hz // PACKETS_PER_S)):
            packet = self._audio[end : end + self._rate_hz // PACKETS_PER_S]
            self._now = (end + len(packet)) * SECOND // self._rate_hz
            async for listened in self._hearing.feed(packet, self._now):
                await self._listen(listened.frame)
                for noticed in listened.noticed:
                    await self._notice(noticed.floor)
            await self._perform(self._machine.tick(self._now))
        for floor in self._endpointing.end():
            await self._notice(floor)
        self._now += 10 * SECOND
        await self._perform(self._machine.tick(self._now))
        return self._heeded

    async def _listen(self, frame: Frame) -> None:
        self._heeded.voiced_s += FRAME_SAMPLES / VAD_RATE_HZ * (frame.probability >= VOICED)
        if self._transcription is None:
            return
        level = max(frame.levels_db, default=SILENCE_DB)
        self._transcription.heard(frame.end, voiced=frame.probability >= VOICED, level_db=level)
        await self._transcribe_next(self._transcription)

    async def _notice(self, floor: Floor) -> None:
        match floor:
            case Onset(start=start):
                self._onset = start
                await self._tell(SpeechStarted(at=self._hearing.moment(start)))
            case Pause(speech_end=speech_end, endpoint=endpoint):
                self._speech_end = speech_end
                end, due = self._hearing.moment(speech_end), self._hearing.moment(endpoint)
                await self._tell(SpeechPaused(at=self._now, speech_end=end, endpoint_due=due))
            case Reconsidered(endpoint=endpoint):
                await self._tell(EndpointMoved(at=self._now, due=self._hearing.moment(endpoint)))
            case Fading() if self._transcription is not None:
                self._transcription.fading()
                await self._transcribe_next(self._transcription)
            case Ask(end=end):
                if self._turn_end is not None:
                    probability, _ = await self._turn_end.judge(self._hearing.log.slice(end - JUDGED_SAMPLES, end))
                    await self._consider(TurnEnd(end=end, probability=probability))

    async def _consider(self, evidence: Evidence) -> None:
        for floor in self._endpointing.told(evidence):
            await self._notice(floor)

    async def _tell(self, event: Event) -> None:
        await self._perform(self._machine.feed(event))

    async def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case BeginTurn():
                    start = max(0, self._onset - PREROLL_SAMPLES)
                    self._transcription = Transcription(start)
                    self._listener = self._recognizer.listen()
                    self._heeded.turns.append(Turn(self._onset / VAD_RATE_HZ - QUIET_S))
                case GoOn() if self._transcription is not None:
                    self._transcription.resumed()
                case Transcribe() if self._transcription is not None:
                    self._transcription.paused(self._hearing.log.end, speech_end=self._speech_end)
                    await self._transcribe_next(self._transcription)
                    if (hypothesis := self._transcription.hypothesis).final:
                        await self._understood(hypothesis, self._hearing.log.end)
                case Commit(id=draft):
                    self._heeded.turns[-1].replied = True
                    await self._tell(AudioStarted(at=self._now, id=draft))
                    await self._tell(AudioEnded(at=self._now, id=draft))
                case EndTurn(outcome=outcome):
                    assert outcome in (Outcome.ANSWERED, Outcome.NO_WORDS)
                    self._heeded.turns[-1].end_s = self._now / SECOND - QUIET_S
                    self._transcription = None

    async def _transcribe_next(self, transcription: Transcription) -> None:
        while (request := transcription.wants()) is not None:
            audio = self._hearing.log.slice(request.start, request.end)
            heard = await self._listener.decode(audio, start=request.start, draft=request.draft, prompt=request.prompt)
            transcription.take(request, heard)

    async def _understood(self, hypothesis: Hypothesis, end: int) -> None:
        self._heeded.turns[-1].text = hypothesis.text
        await self._tell(
            Heard(at=self._now, id=self._machine.live, text=hypothesis.text, until=self._hearing.moment(end))
        )
        await self._consider(Words(end=end, text=hypothesis.text))
