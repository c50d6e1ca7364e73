"""Where a voice begins, where it is gone, and where it really ended. Pure; every policy listens through it.

::

    silent --(ONSET_FRAMES frames >= enter)--> voiced --(a frame < leave, or < DOUBT and quiet)--> paused
    paused --(one frame >= enter, while the pause is held open)--> voiced
    paused --(RESUMING passes, and the endpoint)--> silent

The detector needs some frames to notice that a voice is gone, and counts reverberation as voice. Where the voice
really ended is therefore found backwards, by level (see :mod:`turngap.voice.audio.level`).
"""

from bisect import bisect_left
from collections import Counter, deque
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import Final

from turngap.voice.audio.level import LEVEL_BLOCK_MS, SILENCE_DB, last_voiced_block, voiced_threshold_db
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, VAD_RATE_HZ, Frame, Onset

BLOCK: Final = VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000
SEARCH_BLOCKS: Final = 40
"""0.4 s before the detector's end: how far back the last voiced block is looked for."""

ONSET_FRAMES: Final = 3
"""A tap, a click or a plosive from the next room does not last for 96 ms."""

CONTEST_FRAMES: Final = 1
"""While the agent speaks a single frame is enough: the agent falls silent at once and goes on if it was nothing."""

RESUMING: Final = VAD_RATE_HZ
"""For a second after a pause a voice is most likely the same one going on, perhaps after the endpoint, while the reply
is still being made. Noticed at its first frame instead of its third, it is in time more often."""

DOUBT: Final = 0.8
QUIET_BLOCKS: Final = 5
"""The detector's certainty fades over three or four frames after a voice. Where the level has been below that of voice
for 50 ms, the first sign of doubt is enough: on recorded orders that notices the pause 20 ms sooner (30 ms in the
slowest twentieth), at the price of one more short pause that is none in every third clip."""


FADING_BLOCKS: Final = 3
"""30 ms without voice: longer than most stops in the middle of a word."""


class _State(Enum):
    SILENT = auto()
    VOICED = auto()
    PAUSED = auto()


class Levels:
    """What is loud and what is quiet in this stream: a histogram of 10 ms levels that forgets slowly."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._total = 0
        self._loud: Counter[int] = Counter()

    def add(self, level_db: float, *, voiced: bool) -> None:
        self._counts[round(level_db)] += 1
        self._total += 1
        if voiced:
            self._loud[round(level_db)] += 1
        if self._total > 6000:  # one minute: halve, so that a room that changes is learned again
            self._counts = Counter({level: count // 2 for level, count in self._counts.items() if count > 1})
            self._total = sum(self._counts.values())

    def forget_voice(self) -> None:
        self._loud.clear()

    def threshold_db(self) -> float:
        """The level above which a block counts as voiced."""
        return voiced_threshold_db(_quantile(self._counts, 0.10), _quantile(self._loud or self._counts, 0.95))


def _quantile(counts: Counter[int], share: float) -> float:
    levels = sorted(counts)
    upto = list(accumulate(counts[level] for level in levels))
    return float(levels[bisect_left(upto, share * upto[-1])])


@dataclass(frozen=True, slots=True)
class Gone:
    """The voice is gone since sample ``speech_end``; that was noticed at sample ``noticed``."""

    speech_end: int
    noticed: int


class Voicing:
    """Follows the voice of one stream."""

    def __init__(self, *, enter: float = 0.5, leave: float = 0.35) -> None:
        self.heard = 0
        """The end of the latest frame."""
        self.contested = False
        """Whether the agent is speaking, so that a voice is a contest for the floor."""
        self._enter = enter
        self._leave = leave
        self._state = _State.SILENT
        self._run = 0
        self._faded = False
        self._open_until = 0
        self._recent: deque[tuple[int, float]] = deque(maxlen=SEARCH_BLOCKS * 2)
        self._levels = Levels()

    @property
    def voiced(self) -> bool:
        return self._state is _State.VOICED

    @property
    def paused(self) -> bool:
        """Whether a voice that comes now is the last one going on."""
        return self._state is _State.PAUSED

    @property
    def fading(self) -> bool:
        """Whether a voice that is there has been quiet for a moment: it may be about to pause, or in the middle of a
        word."""
        return self.voiced and self._quiet(FADING_BLOCKS)

    @property
    def began_to_fade(self) -> bool:
        """Whether it was there, and not quiet, until the latest frame."""
        return self.fading and not self._faded

    def hold_open(self, until: int) -> None:
        """The turn is not over before sample ``until``: a voice that comes until then is the same one going on."""
        self._open_until = max(self._open_until, until)

    def feed(self, frame: Frame) -> Onset | Gone | None:
        """What this frame settles; frames must come in order, without holes."""
        self.heard = frame.end
        self._faded = self.fading
        self._note_levels(frame)
        if self.paused and frame.end - FRAME_SAMPLES >= self._open_until:
            self._state, self._run = _State.SILENT, 0
        if self.voiced:
            return self._while_voiced(frame)
        needed = CONTEST_FRAMES if self.contested or self.paused else ONSET_FRAMES
        return self._await_voice(frame, frames=needed)

    def end(self) -> Gone | None:
        """No audio comes any more, for now at least: a voice that was there is gone."""
        return self._gone(self._speech_end(self.heard)) if self.voiced else None

    def _await_voice(self, frame: Frame, *, frames: int) -> Onset | None:
        self._run = self._run + 1 if frame.probability >= self._enter and self._audible(frame) else 0
        if self._run < frames:
            return None
        if self._state is _State.SILENT:
            self._levels.forget_voice()
        start = frame.end - self._run * FRAME_SAMPLES
        self._state, self._run = _State.VOICED, 0
        return Onset(start=max(0, start))

    def _audible(self, frame: Frame) -> bool:
        """The detector's doubts after a voice flare up again for a frame or two, over nothing: a voice that goes on is
        as loud as it was."""
        return not self.paused or max(frame.levels_db, default=SILENCE_DB) > self._levels.threshold_db()

    def _while_voiced(self, frame: Frame) -> Gone | None:
        if frame.probability >= self._leave and not (frame.probability < DOUBT and self._quiet()):
            return None
        return self._gone(self._speech_end(frame.end - FRAME_SAMPLES))

    def _gone(self, speech_end: int) -> Gone:
        self._state, self._run = _State.PAUSED, 0
        self._open_until = self.heard + RESUMING
        return Gone(speech_end, self.heard)

    def _quiet(self, blocks: int = QUIET_BLOCKS) -> bool:
        latest = [level for _, level in self._recent][-blocks:]
        return last_voiced_block(latest, self._levels.threshold_db()) is None

    def _speech_end(self, otherwise: int) -> int:
        ends = [end for end, _ in self._recent]
        levels = [level for _, level in self._recent]
        found = last_voiced_block(levels, self._levels.threshold_db())
        return ends[found] if found is not None else otherwise

    def _note_levels(self, frame: Frame) -> None:
        first = (frame.end - FRAME_SAMPLES) // BLOCK
        for index, level in enumerate(frame.levels_db, start=1):
            self._recent.append(((first + index) * BLOCK, level))
            self._levels.add(level, voiced=frame.probability >= self._enter)
