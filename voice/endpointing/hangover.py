"""The plain policy: voice by hysteresis, the end of a turn after a fixed hangover.

::

    silent --(ONSET_FRAMES frames >= enter)--> voiced --(a frame < leave, or < DOUBT and quiet)--> paused
    paused --(one frame >= enter, within RESUMING of the pause)--> voiced
    paused --(RESUMING passes, and the endpoint)--> silent

The detector needs some frames to notice that a voice is gone, and counts reverberation as voice. Where the voice
really ended is therefore found backwards, by level (see :mod:`turngap.voice.audio.level`), and the hangover counts
from there.
"""

from bisect import bisect_left
from collections import Counter, deque
from enum import Enum, auto
from itertools import accumulate
from typing import Final

from turngap.voice.audio.level import LEVEL_BLOCK_MS, last_voiced_block, voiced_threshold_db
from turngap.voice.endpointing.protocol import FRAME_SAMPLES, VAD_RATE_HZ, Floor, Frame, Onset, Pause

BLOCK: Final = VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000
SEARCH_BLOCKS: Final = 40
"""0.4 s before the detector's end: how far back the last voiced block is looked for."""

HANGOVER_MS: Final = 400.0
"""People pause for 330 to 380 ms in the middle of an order, and the voice that goes on is noticed 40 ms later. Until
then no reply may be heard; made it may be, so that the wait costs nothing where a reply takes as long. Of 51 orders
200 ms cut three short and 400 ms two, at median gaps of 480 and 510 ms."""

ONSET_FRAMES: Final = 3
"""A tap, a click or a plosive from the next room does not last for 96 ms."""


RESUMING: Final = VAD_RATE_HZ
"""For a second after a pause a voice is most likely the same one going on, perhaps after the endpoint, while the reply
is still being made. Noticed at its first frame instead of its third, it is in time more often."""

DOUBT: Final = 0.8
QUIET_BLOCKS: Final = 5
"""The detector's certainty fades over three or four frames after a voice. Where the level has been below that of voice
for 50 ms, the first sign of doubt is enough: on recorded orders that notices the pause 20 ms sooner (30 ms in the
slowest twentieth), at the price of one more short pause that is none in every third clip."""


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


class Hangover:
    """The turn is over when the voice has been gone for ``hangover_ms``."""

    def __init__(self, *, hangover_ms: float = HANGOVER_MS, enter: float = 0.5, leave: float = 0.35) -> None:
        self._hangover = round(hangover_ms * VAD_RATE_HZ / 1000)
        self._enter = enter
        self._leave = leave
        self._state = _State.SILENT
        self._run = 0
        self._heard = 0
        self._paused = 0
        self._endpoint = 0
        self._recent: deque[tuple[int, float]] = deque(maxlen=SEARCH_BLOCKS * 2)
        self._levels = Levels()

    def feed(self, frame: Frame) -> list[Floor]:
        """Onsets and pauses that this frame settles; frames must come in order, without holes."""
        self._heard = frame.end
        self._note_levels(frame)
        if self._state is _State.PAUSED and frame.end - FRAME_SAMPLES >= max(self._endpoint, self._paused + RESUMING):
            self._state, self._run = _State.SILENT, 0
        if self._state is _State.VOICED:
            return self._while_voiced(frame)
        return self._await_voice(frame, frames=1 if self._state is _State.PAUSED else ONSET_FRAMES)

    def end(self) -> list[Floor]:
        """No audio comes any more, for now at least: a voice that was there has paused, and its turn is over."""
        if self._state is not _State.VOICED:
            return []
        self._state, self._run, self._endpoint = _State.PAUSED, 0, self._heard
        self._paused = self._heard
        return [Pause(speech_end=self._speech_end(self._heard), endpoint=self._heard, reason="end of audio")]

    def _await_voice(self, frame: Frame, *, frames: int) -> list[Floor]:
        self._run = self._run + 1 if frame.probability >= self._enter else 0
        if self._run < frames:
            return []
        if self._state is _State.SILENT:
            self._levels.forget_voice()
        start = frame.end - self._run * FRAME_SAMPLES
        self._state, self._run = _State.VOICED, 0
        return [Onset(start=max(0, start))]

    def _while_voiced(self, frame: Frame) -> list[Floor]:
        if frame.probability >= self._leave and not (frame.probability < DOUBT and self._quiet()):
            return []
        self._state, self._run, self._paused = _State.PAUSED, 0, frame.end
        speech_end = self._speech_end(frame.end - FRAME_SAMPLES)
        self._endpoint = max(frame.end, speech_end + self._hangover)
        return [Pause(speech_end=speech_end, endpoint=self._endpoint)]

    def _quiet(self) -> bool:
        latest = [level for _, level in self._recent][-QUIET_BLOCKS:]
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
