"""A policy replayed over a recorded trace: what it would have decided, and what of that was heard. Pure.

The same policy object as live is fed the same frames; evidence comes as late as it would have come. What is judged:

* *endpointing time*: from the true end of the speech to the endpoint that stood;
* *wrong*: an endpoint that passed while the speaker was only pausing, and that stood until the voice came back;
* *heard*: of these, the ones whose reply would have been audible before that. The others cost nothing: the reply was
  made, or half made, and thrown away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from turngap.voice.endpointing.protocol import (
    VAD_RATE_HZ,
    Endpointing,
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

TOLERANCE = VAD_RATE_HZ // 20
"""A voice that begins within 50 ms of the true end, or later, is not the user's turn going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What was heard of one turn. Positions are 16 kHz samples."""

    frames: Sequence[Frame]
    speech_end: int
    """The true end of the speech."""
    opinion: Callable[[int], float]
    """The turn-end model's probability for the audio up to a sample."""
    words: Callable[[int], str]
    """The words up to a pause that was noticed at a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How late evidence comes, and a reply; in samples."""

    opinion: int = 0
    words: int = 0
    """From the pause to its final transcript."""
    reply: int = 0
    """From the transcript or the endpoint, whichever is later, to the first audible sample of the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a policy made of a trace."""

    endpoint: int | None
    """The endpoint that stood at the end; None if there was none."""
    wrong: int
    heard: int
    asks: int


@dataclass(slots=True)
class _Course:
    """The state of a replay."""

    trace: Trace
    delays: Delays
    queue: list[tuple[int, Evidence]] = field(default_factory=list)
    due: int | None = None
    passed: int | None = None
    """When the endpoint passed that stands now."""
    words_at: int = 0
    wrong: int = 0
    heard: int = 0
    asks: int = 0

    def follow(self, floors: Sequence[Floor], now: int) -> None:
        for floor in floors:
            match floor:
                case Onset(start=start):
                    self._voice(start, now)
                case Pause(endpoint=endpoint):
                    self.due = endpoint
                    self.words_at = now + self.delays.words
                    self.queue.append((self.words_at, Words(end=now, text=self.trace.words(now))))
                case Reconsidered(endpoint=endpoint):
                    self.due = max(endpoint, now)
                    if endpoint > now and not self._is_heard(now):
                        self.passed = None
                case Fading():
                    pass  # the words' delay counts from the pause
                case _:
                    self.asks += 1
                    opinion = TurnEnd(end=floor.end, probability=self.trace.opinion(floor.end))
                    self.queue.append((now + self.delays.opinion, opinion))
        self.pass_until(now)

    def pass_until(self, now: int) -> None:
        if self.passed is None and self.due is not None and self.due <= now:
            self.passed = self.due

    def _voice(self, start: int, now: int) -> None:
        if self.passed is not None and start < self.trace.speech_end - TOLERANCE:
            self.wrong += 1
            self.heard += self._is_heard(now)
        self.due = self.passed = None

    def _is_heard(self, now: int) -> bool:
        return self.passed is not None and max(self.passed, self.words_at) + self.delays.reply < now


def replay(trace: Trace, policy: Endpointing, delays: Delays) -> Decided:
    """Feed the trace to a fresh ``policy``, with evidence as late as ``delays`` says."""
    course = _Course(trace, delays)
    for frame in trace.frames:
        while course.queue and min(at for at, _ in course.queue) <= frame.end:
            at, evidence = course.queue.pop(min(range(len(course.queue)), key=lambda index: course.queue[index][0]))
            course.pass_until(at - 1)
            course.follow(policy.told(evidence), at)
        course.pass_until(frame.end)
        course.follow(policy.feed(frame), frame.end)
    endpoint = course.passed if course.passed is not None else course.due
    return Decided(endpoint=endpoint, wrong=course.wrong, heard=course.heard, asks=course.asks)
