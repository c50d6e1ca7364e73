"""When to listen again, to which part of a turn, and what its words then are. Pure: no audio, no clock, no model.

Theory of operation. While the user speaks, *interim* passes run over the open segment, each over all of its audio. When
the voice fades, the next one begins at once, since it may have heard everything: a pause whose last voiced sample it
covers needs no other. Any other pause makes a *final* pass due. Both supersede a pass that is still running, since
that one knows nothing of the last words and would hold up the queue. If the user goes on, the segment just grows: the
words of the final pass were only candidates.

Each pass carries the words of the one before as its *draft*, which the recogniser checks instead of finding them
again. They are not forced on it. What has become stable stands in the text, also against the final pass.

A segment is bounded, because each pass costs as much as its audio is long: past ``close_after`` it ends with the next
pause, past ``cut_after`` it is cut at a quiet place. The words of an ended segment are what they are; they prompt
the passes over the next one.

Positions are samples of the conversation's audio at 16 kHz.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from turngap.voice.asr.protocol import ASR_RATE_HZ, Pass
from turngap.voice.asr.stable import Hypothesis, StableWords

PROMPT_WORDS: Final = 30
"""About two sentences: enough for names and style, little enough for a prefill of a few milliseconds."""


def samples(seconds: float) -> int:
    return round(seconds * ASR_RATE_HZ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """How often to listen, and how long a segment may become; in samples."""

    voiced: int = samples(0.4)
    """Newly voiced audio that makes an interim pass worth its time: a word or two."""
    settled: int = samples(0.1)
    """Voice that must have been there without a gap before an interim pass: a shorter one may be about to pause, and
    a pass that starts then is in the way of the final one."""
    rest: float = 1.0
    """Audio to let pass after an interim pass, as a share of what arrived while it ran: a slow machine listens less
    often instead of falling behind."""
    close_after: int = samples(9.0)
    """From here on a segment ends with the next pause."""
    cut_after: int = samples(12.5)
    """From here on it is cut, pause or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRequest:
    """One pass to run over ``audio[start:end]``. Its result goes to :meth:`Transcription.take` with this request."""

    id: int
    start: int
    end: int
    draft: tuple[str, ...]
    prompt: str
    final: bool = False
    supersedes: int | None = None
    """The request that is no longer wanted; cancel it, or let its result be dropped."""
    closes: bool = False
    """The segment ends with this audio."""


class Transcription:
    """The words of one turn. Tell it what is heard, ask :meth:`wants` after every fact, run what it asks for.

    At most one pass is wanted at a time. A late result is recognised by its request and dropped.
    """

    def __init__(self, start: int, *, pacing: Pacing | None = None) -> None:
        self._pacing = Pacing() if pacing is None else pacing
        self._start = start
        self._heard = start
        self._voiced = 0  # newly voiced samples since the last pass was asked for
        self._run = 0  # voiced samples without a gap, up to now
        self._rest_until = start
        self._paused_at: int | None = None
        self._voice_end = start  # of the present pause
        self._fading = False
        self._due = False  # a final pass for the present pause has not been asked for yet
        self._levels: deque[tuple[int, float]] = deque()
        self._passed = start  # where the last pass over the open segment ended
        self._agreed = start  # ... and the one before it: stable words lie before here
        self._closed: tuple[str, ...] = ()
        self._open = StableWords()
        self._said: tuple[str, ...] = ()  # by the last pass over the open segment
        self._in_flight: PassRequest | None = None
        self._count = 0
        self._final = False
        self._pause_closes: int | None = None  # where the segment ends if the user goes on

    @property
    def hypothesis(self) -> Hypothesis:
        stable = self._closed + self._open.stable
        return Hypothesis(stable=stable, unstable=self._open.unstable, final=self._final)

    def heard(self, end: int, *, voiced: bool, level_db: float = 0.0) -> None:
        """Audio up to ``end`` is there; its newest part is voiced or not, and so loud."""
        fresh = end - self._heard
        if fresh <= 0:
            return
        self._heard = end
        self._run = self._run + fresh if voiced else 0
        self._voiced += fresh if voiced else 0
        self._levels.append((end, level_db))
        while self._levels[0][0] < self._agreed:
            self._levels.popleft()

    def fading(self) -> None:
        """The voice that was there may be gone now, or is in the middle of a word."""
        self._fading = self._voiced > 0

    def paused(self, end: int, *, speech_end: int) -> None:
        """The voice is gone since ``speech_end``; a final pass covers the audio up to ``end``, all of which must be
        there. It is not needed where a pass has covered the voice already."""
        self._heard = max(self._heard, end)
        self._paused_at = end
        self._voice_end = speech_end
        self._fading = False
        running = self._in_flight
        covered = self._passed if running is None else 0 if running.closes else running.end
        self._due = covered < speech_end
        self._final = running is None and not self._due
        if self._final:
            self._pause_covered(self._passed)

    def resumed(self) -> None:
        """The user goes on in the same turn."""
        self._paused_at = None
        self._due = False
        self._final = False
        if self._pause_closes is not None:
            self._close(at=self._pause_closes)

    def wants(self) -> PassRequest | None:
        """The pass to start now, if any; it then counts as running until :meth:`take` or :meth:`drop`."""
        if self._paused_at is not None:
            return self._want_final(self._paused_at) if self._due else None
        if self._fading:
            return self._want_before_pause()
        if self._in_flight is not None:
            return None
        if self._heard - self._start > self._pacing.cut_after:
            return self._request(self._quietest(), closes=True)
        if (
            self._voiced >= self._pacing.voiced
            and self._run >= self._pacing.settled
            and self._heard >= self._rest_until
        ):
            return self._request(self._heard)
        return None

    def take(self, request: PassRequest, result: Pass) -> Hypothesis | None:
        """The words after this pass, or None if nobody waits for it any more."""
        if self._in_flight != request:
            return None
        self._in_flight = None
        self._rest_until = self._heard + round(self._pacing.rest * (self._heard - request.end))
        self._said = result.words
        self._open.take(result.words, end=request.end, sure=result.sure)
        self._agreed, self._passed = self._passed, request.end
        if request.closes:
            self._close(at=request.end)
        elif request.final or self._paused_at is not None:
            self._final = self._paused_at is not None and request.end >= self._voice_end
            self._pause_covered(request.end)
            if self._paused_at is None and self._pause_closes is not None:  # already going on
                self._close(at=request.end)
        return self.hypothesis

    def drop(self, request: PassRequest) -> bool:
        """This pass failed; whether the present pause waits for it. Another is wanted by the next :meth:`paused`."""
        if self._in_flight != request:
            return False
        self._in_flight = None
        return self._paused_at is not None

    def _pause_covered(self, end: int) -> None:
        if end - self._start > self._pacing.close_after:
            self._pause_closes = end

    def _want_before_pause(self) -> PassRequest | None:
        self._fading = False
        running = self._in_flight
        if running is not None and running.closes:
            return None
        return self._request(self._heard, supersedes=None if running is None else running.id)

    def _want_final(self, end: int) -> PassRequest | None:
        self._due = False
        running = self._in_flight
        if running is not None and running.closes:
            self._due = True  # its words end a segment, so the final pass begins where it ends
            return None
        return self._request(end, final=True, supersedes=None if running is None else running.id)

    def _request(
        self, end: int, *, final: bool = False, closes: bool = False, supersedes: int | None = None
    ) -> PassRequest:
        self._count += 1
        self._voiced = 0
        self._pause_closes = None
        self._in_flight = PassRequest(
            id=self._count,
            start=self._start,
            end=end,
            draft=self._said,
            prompt=" ".join(self._closed[-PROMPT_WORDS:]),
            final=final,
            supersedes=supersedes,
            closes=closes,
        )
        return self._in_flight

    def _close(self, *, at: int) -> None:
        self._closed += self._open.stable + self._open.unstable
        self._open, self._said = StableWords(), ()
        self._start = self._agreed = self._passed = at
        self._pause_closes = None

    def _quietest(self) -> int:
        """The end of the quietest piece of audio after the stable words; the very last is too fresh."""
        latest = self._heard - samples(0.3)
        past = [(level, end) for end, level in self._levels if self._agreed < end <= latest]
        return min(past)[1] if past else self._heard
