"""Who speaks over the agent in scripts/eval_barge_in.py, and what does that is nobody's turn.

*Interruptions* are whole utterances from the sets of short queries, orders and commands, one after the other from each
set, so that any number of them has many voices. What people say along is left out, and what pauses inside.

*Sounds* are of two kinds. Those of people ("along"): a "yes", and cut by hand out of meetings a cough and the shortest
turns, of 0.3 to 0.8 s, that the annotation (RTTM) gives to one speaker alone. It has no words: the names are what a
recogniser hears in the whole of each. Four such turns are left out, since what is heard in them is "no" or a part of a
sentence. Those of things: the loudest places of recordings in which nobody speaks, 0.2 to 1.5 s each.
All of them are as loud as the interruptions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.client.clips import rows
from turngap.voice.client.cuts import bounds, cut, loudest
from turngap.voice.client.recording import read
from turngap.voice.client.truth import first_voiced_s, last_voiced_s

SETS: Final = (
    "picovoice-barista", "google-docs-samples", "rhasspy", "microsoft-speech-sdk", "mycroft-precise", "pocketsphinx",
    "unmute-loadtest",
)  # fmt: skip
LONGEST_S: Final = 3.2
"""Of an interruption."""
LONGEST_PAUSE_S: Final = 0.35
"""Within one: whoever pauses longer may be answered in the middle of it."""
NO_INTERRUPTIONS: Final = frozenset({
    "two_channel_16k", "audio_silence_padding",  # a dialogue; another file's words
    "fair",  # "fair" is said along
})  # fmt: skip

ALONG: Final = (
    ("yes", "speech/speech-commands/yes_1000ms.wav", 0.42, 0.92),
    ("mm", "speech/ami/tst01.wav", 28.98, 29.40),
    ("okay", "speech/ami/tst01.wav", 16.45, 17.05),
    ("cough", "speech/ami/trn01.wav", 18.82, 19.36),
    ("yeah", "speech/ami/trn01.wav", 22.24, 22.75),
    ("hmm", "speech/ami/trn05.wav", 1.44, 2.13),
    ("okay", "speech/ami/trn05.wav", 5.92, 6.30),
    ("yeah", "speech/ami/dev01.wav", 17.15, 17.50),
    ("yeah", "speech/ami/dev01.wav", 17.48, 17.72),
    ("oh, (I) see", "speech/ami/dev01.wav", 29.05, 29.55),
    ("murmur", "speech/ami/trn01.wav", 2.95, 3.40),
)
TWICE: Final = 2
"""Each of these is heard so often, at different places of the reply."""
THINGS: Final = (
    ("microphone rubbed", "noise/audiomentations/130921_iPhone_rub_channel0_chunk83_aug2.wav", (0.75,), 1),
    ("microphone tapped", "noise/audiomentations/130921_laptopmic-dell_tap_channel0_chunk200_aug0.wav", (1.2,), 1),
    ("friction", "noise/audiomentations/friction0.wav", (0.5,), 1),
    ("friction", "noise/audiomentations/friction1.wav", (0.35,), 1),
    ("dishes", "noise/speech-commands/doing_the_dishes.wav", (0.2, 0.4, 0.7, 1.0, 1.5), 2),
    ("exercise bike", "noise/speech-commands/exercise_bike.wav", (0.3, 0.8, 1.5), 1),
    ("crackle", "noise/speechbrain-noise-rir/noise4.wav", (0.2, 0.5, 1.3), 1),
    ("crackle", "noise/speechbrain-noise-rir/noise5.wav", (0.2, 0.6, 1.5), 1),
    ("hum", "noise/speechbrain-noise-rir/noise2.wav", (1.0,), 1),
    ("monkeys", "speech/asterisk-8k/tt-monkeys.wav", (0.3, 0.7, 1.2), 2),
    ("trumpet", "noise/music-librosa/sorohanro_-_solo-trumpet-06.ogg", (0.4, 1.2), 1),
    ("music", "noise/asterisk-moh/manolo_camp-morning_coffee.wav", (0.5, 1.5), 1),
    ("key tone", "noise/dtmf/dtmf-0.wav", (0.4,), 1),
    ("key tone", "noise/dtmf/dtmf-5.wav", (0.4,), 1),
    ("room", "noise/mycroft-precise/bg_noise/bg_noise.wav", (0.3, 1.0), 1),
    ("room", "noise/mycroft-precise/bg_noise/bg_noise3.wav", (0.3, 1.0), 1),
    ("room", "noise/mycroft-precise/bg_noise/bg_noise4.wav", (0.3, 1.0), 1),
    ("room", "noise/mycroft-precise/bg_noise/bg_noise5.wav", (0.3, 1.0), 1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """What is played over the agent; where it begins and ends, in seconds of it."""

    name: str
    samples: NDArray[np.float32]
    onset_s: float
    end_s: float


def interruptions(manifest: Path, rate_hz: int) -> list[Sound]:
    """All there are, one of each set after the other."""
    by_set: dict[str, list[Sound]] = {name: [] for name in SETS}
    for row in rows(manifest):
        name = str(row.get("set", "")).rpartition("/")[2]
        if name in by_set and _interrupts(row):
            by_set[name].append(_utterance(manifest, row, rate_hz))
    return [sound for sound in chain.from_iterable(zip_longest(*by_set.values())) if sound is not None]


def sounds(manifest: Path, rate_hz: int) -> list[Sound]:
    """What is no interruption: each of people's followed by about two of things'."""
    along = [_part(manifest, name, file, start, end, rate_hz) for name, file, start, end in ALONG] * TWICE
    things = list(_things(manifest, rate_hz))
    share = -(-len(things) // len(along))
    return list(chain.from_iterable([each, *things[at * share : (at + 1) * share]] for at, each in enumerate(along)))


def question(manifest: Path, rate_hz: int) -> Sound:
    """What the agent is asked, to have it speak."""
    (row,) = [row for row in rows(manifest) if row["file"] == "speech/rhasspy/what_time_is_it.wav"]
    return _utterance(manifest, row, rate_hz)


def _interrupts(row: Mapping[str, Any]) -> bool:
    segments, end_s = row.get("speech_segments_s"), row.get("speech_end_s")
    if not segments or end_s is None or Path(row["file"]).stem in NO_INTERRUPTIONS:
        return False
    pauses = row.get("max_internal_pause_s") or 0.0
    return end_s - segments[0][0] <= LONGEST_S and pauses <= LONGEST_PAUSE_S


def _utterance(manifest: Path, row: Mapping[str, Any], rate_hz: int) -> Sound:
    start_s, end_s = bounds(row)
    label_s = row["speech_segments_s"][0][0] - start_s
    return _part(manifest, Path(row["file"]).stem, row["file"], start_s, end_s, rate_hz, label_s=label_s)


def _things(manifest: Path, rate_hz: int) -> Iterator[Sound]:
    for name, file, lengths, count in THINGS:
        recording = read(manifest.parent / file)
        for seconds in lengths:
            for start_s in loudest(recording.mono, recording.rate_hz, seconds=seconds, count=count):
                yield _part(manifest, name, file, start_s, start_s + seconds, rate_hz)


def _part(
    manifest: Path, name: str, file: str, start_s: float, end_s: float, rate_hz: int, *, label_s: float = 0.0
) -> Sound:
    recording = read(manifest.parent / file)
    samples = cut(recording.mono, recording.rate_hz, start_s=start_s, end_s=end_s, to_hz=rate_hz)
    length_s = len(samples) / rate_hz
    onset_s = first_voiced_s(samples, rate_hz, near_s=label_s)
    last_s = last_voiced_s(samples, rate_hz, near_s=length_s)
    return Sound(
        name=name,
        samples=samples,
        onset_s=label_s if onset_s is None else onset_s,
        end_s=length_s if last_s is None else last_s,
    )


def spread(count: int, first: float, last: float) -> Sequence[float]:
    """So many numbers over a range, evenly from whatever place one begins: by the golden ratio."""
    return [first + (last - first) * ((number + 1) * 0.6180339887 % 1.0) for number in range(count)]
