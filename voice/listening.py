"""The words of a voice while it speaks: passes of the recogniser, one at a time. A shell without decisions.

:mod:`turngap.voice.asr.incremental` decides when to listen, and to what; here it is done, and the words are told.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from turngap.budget.errors import StageError
from turngap.budget.marks import Span
from turngap.llm.speculation.policy import Running
from turngap.voice.asr.incremental import Pacing, PassRequest, Transcription
from turngap.voice.asr.protocol import Recognizer
from turngap.voice.asr.stable import Hypothesis
from turngap.voice.audio.level import SILENCE_DB
from turngap.voice.audio.log import AudioLog
from turngap.voice.endpointing.protocol import VAD_RATE_HZ, Frame
from turngap.voice.events import DraftId

VOICED = 0.5
"""From this probability on a frame counts as voiced for the pace of the recogniser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listened:
    """The words after a pass, the sample it listened up to, the draft that waits for them, its work."""

    hypothesis: Hypothesis
    end: int
    draft: DraftId
    spans: tuple[Span, ...]


class Listening:
    """Listens to one voice after the other. ``tell`` is given the words, ``fail`` what went wrong, with the draft that
    waits for it."""

    def __init__(
        self,
        recognizer: Recognizer,
        log: AudioLog,
        *,
        tasks: asyncio.TaskGroup,
        tell: Callable[[Listened], Awaitable[None]],
        fail: Callable[[DraftId | None, StageError], Awaitable[None]],
    ) -> None:
        self._recognizer = recognizer
        self._log = log
        self._tasks = tasks
        self._tell = tell
        self._fail = fail
        self._transcription = Transcription(0)
        self._listener = recognizer.listen()
        self._passing: asyncio.Task[None] | None = None
        self._draft = DraftId(0, 0, 0)
        self._latest: Listened | None = None

    @property
    def hypothesis(self) -> Hypothesis:
        """The words so far."""
        return self._transcription.hypothesis

    def running(self, speech_end: int) -> Running | None:
        """The words so far at a pause, and how much of the voice they lack; None if they are final, or there are
        none."""
        hypothesis, latest = self.hypothesis, self._latest
        if hypothesis.final or latest is None:
            return None
        return Running(words=hypothesis.words, uncovered_ms=(speech_end - latest.end) * 1000 / VAD_RATE_HZ)

    def begin(self, start: int, pacing: Pacing | None = None) -> None:
        """A voice begins at sample ``start``; words of the one before are not told any more."""
        self._transcription = Transcription(start, pacing=pacing)
        self._listener = self._recognizer.listen()
        self._latest = None

    def hear(self, frame: Frame, draft: DraftId) -> None:
        """Keep the running hypothesis fresh."""
        level = max(frame.levels_db, default=SILENCE_DB)
        self._draft = draft
        self._transcription.heard(frame.end, voiced=frame.probability >= VOICED, level_db=level)
        self._next()

    def fading(self) -> None:
        """The voice may be gone: listen to all of it now, in case it is."""
        self._transcription.fading()
        self._next()

    async def paused(self, draft: DraftId, *, speech_end: int) -> None:
        """The voice is gone since sample ``speech_end``: its words are wanted now, for ``draft``."""
        self._draft = draft
        self._transcription.paused(self._log.end, speech_end=speech_end)
        self._next()
        hypothesis = self._transcription.hypothesis
        if hypothesis.final and self._latest is not None:
            await self._tell(replace(self._latest, hypothesis=hypothesis, draft=draft))

    def resumed(self) -> None:
        """The same voice goes on."""
        self._transcription.resumed()

    def _next(self) -> None:
        """Start the pass that is wanted now, if one is."""
        request = self._transcription.wants()
        if request is None:
            return
        if request.supersedes is not None and self._passing is not None:
            self._passing.cancel()
        self._passing = self._tasks.create_task(self._pass(request, self._transcription))

    async def _pass(self, request: PassRequest, transcription: Transcription) -> None:
        try:
            audio = self._log.slice(request.start, request.end)
            heard = await self._listener.decode(audio, start=request.start, draft=request.draft, prompt=request.prompt)
        except StageError as error:
            awaited = transcription.drop(request)
            await self._fail(self._draft if awaited else None, error)
            return
        hypothesis = transcription.take(request, heard)
        if hypothesis is None or transcription is not self._transcription:
            return  # nobody waits for it any more
        if not hypothesis.final:
            self._next()
        self._latest = Listened(hypothesis=hypothesis, end=request.end, draft=self._draft, spans=heard.spans)
        await self._tell(self._latest)
