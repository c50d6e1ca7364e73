#!/usr/bin/env python3
"""How much of the agent's own voice gets through: echoes by level, delay and room, before and after the canceller.

A conversation is simulated as a session has it: the agent's speech leaves in packets up to 200 ms before it is heard,
comes back through a room after a delay, at a level against what was played, in the noise of a microphone. Each case
holds two replies, the first for a canceller that knows nothing yet. An onset is three frames in a row in which Silero
is surer than 0.5 of a voice: what would interrupt the agent.

With --manifest, people speak over the agent too: how much of their voiced frames is still voiced, and how much later
(or, before the canceller, earlier) the onset comes; with no echo at all as well, as behind headphones.
"""

import argparse
import asyncio
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from turngap.budget.clock import MS, SECOND, monotonic, process_cpu
from turngap.voice.audio.aec3 import canceller_maker
from turngap.voice.audio.echo import ECHO_RATE_HZ, EchoCanceller
from turngap.voice.audio.pcm import from_pcm16, to_pcm16
from turngap.voice.endpointing.protocol import FRAME_SAMPLES
from turngap.voice.endpointing.silero import Silero
from turngap.voice.models.store import find
from turngap.voice.tts.registry import make_synthesizer

Audio = NDArray[np.float32]

REPLIES = (
    "Sure, one large oat latte with an extra shot. Would you like anything to eat with that, or is this everything?",
    "I can help you with that. Our shop opens at seven in the morning and closes at six, except on Sundays.",
    "Thank you for calling. Please hold on for a moment while I look up your order in the system.",
    "The train to the airport leaves every twenty minutes from platform four. The next goes at a quarter past nine.",
)
LEVELS_DB = (-10.0, -20.0, -30.0)
DELAYS_MS = (20, 100, 200, 300)
ROOMS = {"made 0.2 s": (0.2, 8.0, 1), "made 0.4 s": (0.4, 8.0, 2), "made 0.3 s, far": (0.3, 3.0, 5)}
"""Decay, direct sound, seed."""

# The constants of settling.py and echo_presence.py were found with the rooms above; these they have never seen.
UNSEEN_REPLIES = (
    "Your appointment is on Thursday at half past ten with Doctor Miller. Please bring your insurance card with you.",
    "Yesterday it rained all day, but tomorrow should be sunny and warm, with a light wind from the west at night.",
    "There are three restaurants near you that are still open. The closest one serves Italian food and has a garden.",
)
UNSEEN_DELAYS_MS = (60, 150, 250)
UNSEEN_ROOMS = {
    "made 0.25 s": (0.25, 4.0, 11),
    "other 0.4 s": (0.4, 8.0, 12),
    "made 0.5 s": (0.5, 6.0, 13),
    "made 0.7 s": (0.7, 8.0, 14),
}
PACKET = ECHO_RATE_HZ // 50
LEAD = 200 * MS
QUIET = np.zeros(ECHO_RATE_HZ, np.float32)
MICROPHONE_DB = -62.0
SPEECH_DB = -26.0
ONSET_FRAMES = 3
INTERRUPTED_AFTER_S = (0.3, 1.0, 2.0, 3.5)


def db(value: float) -> float:
    return float(10.0 ** (value / 20.0))


def rms(samples: Audio) -> float:
    return float(np.sqrt(np.mean(np.square(samples))))


def made_room(decay_s: float, direct: float, seed: int) -> Audio:
    """Noise that decays by 60 dB within ``decay_s``, behind a direct path of ``direct`` times its first taps."""
    length = int(decay_s * ECHO_RATE_HZ)
    tail = np.random.default_rng(seed).normal(size=length) * np.exp(-6.9 * np.arange(length) / length)
    tail[0] = direct
    return tail.astype(np.float32)


def read(path: Path) -> Audio:
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    return np.asarray(mono if rate == ECHO_RATE_HZ else soxr.resample(mono, rate, ECHO_RATE_HZ), np.float32)


def read_room(path: Path) -> Audio:
    """A measured response from 1 ms before its direct sound on: the delay is the case's to choose."""
    response = read(path)[:ECHO_RATE_HZ]
    return response[max(0, int(np.argmax(np.abs(response))) - ECHO_RATE_HZ // 1000) :]


def echo_of(played: Audio, room: Audio, *, level_db: float, delay_ms: int) -> Audio:
    """What comes back of ``played``; its level over the stretches in which there is any."""
    size = 1 << (len(played) + len(room)).bit_length()
    wet = np.fft.irfft(np.fft.rfft(played, size) * np.fft.rfft(room, size), size)[: len(played)].astype(np.float32)
    late = np.concatenate([np.zeros(delay_ms * ECHO_RATE_HZ // 1000, np.float32), wet])[: len(played)]
    spoken = played != 0
    return np.asarray(late * (db(level_db) * rms(played[spoken]) / rms(wet[spoken])), np.float32)


def microphone_noise(length: int) -> Audio:
    noise = np.convolve(np.random.default_rng(1).normal(size=length), (1, 0.9, 0.8, 0.6, 0.4, 0.2), "same")
    return np.asarray(noise / np.std(noise) * db(MICROPHONE_DB), np.float32)


def departures(played: Audio) -> Iterator[tuple[int, Audio]]:
    """The packets of what is played, and when each leaves: the first of a reply when it is played, others earlier."""
    begin = None
    for at in range(0, len(played), PACKET):
        packet = played[at : at + PACKET]
        if not np.any(packet):
            begin = None
            continue
        begin = at if begin is None else begin
        yield max(begin, at - LEAD * ECHO_RATE_HZ // SECOND), packet


def through_canceller(microphone: Audio, played: Audio) -> Audio:
    """Both as packets, in the order and at the moments of a live session."""
    canceller = canceller_maker("cancel")()
    assert canceller is not None
    echo = EchoCanceller(ECHO_RATE_HZ, canceller)
    waiting = deque(departures(played))
    out = []
    for start in range(0, len(microphone) - PACKET + 1, PACKET):
        while waiting and waiting[0][0] <= start + PACKET:
            leaves, packet = waiting.popleft()
            echo.played(packet, leaves * SECOND // ECHO_RATE_HZ)
        heard = from_pcm16(to_pcm16(microphone[start : start + PACKET]))
        out.append(echo.clean(heard, start * SECOND // ECHO_RATE_HZ))
    return np.concatenate(out)


class Detector:
    """Silero over whole recordings."""

    def __init__(self) -> None:
        self._silero = Silero(find("silero-vad"))

    def voiced(self, samples: Audio) -> NDArray[np.bool_]:
        activity = self._silero.listen()
        frames = range(0, len(samples) - FRAME_SAMPLES + 1, FRAME_SAMPLES)
        return np.array([activity.probability_now(samples[at : at + FRAME_SAMPLES]) > 0.5 for at in frames])


def onsets(voiced: Sequence[bool] | NDArray[np.bool_]) -> list[int]:
    """The first frame of each run that is long enough."""
    found, run = [], 0
    for index, frame in enumerate(voiced):
        run = run + 1 if frame else 0
        if run == ONSET_FRAMES:
            found.append(index - ONSET_FRAMES + 1)
    return found


def longest(voiced: NDArray[np.bool_]) -> int:
    return max((len(list(run)) for value, run in itertools.groupby(voiced) if value), default=0)


@dataclass(frozen=True, slots=True)
class Case:
    level_db: float | None
    """None: no echo comes back."""
    delay_ms: int
    room: str


@dataclass(frozen=True, slots=True)
class Alone:
    """What became of a case in which only the agent speaks."""

    case: Case
    share: tuple[float, float]
    longest: tuple[int, int]
    onsets: tuple[int, int]
    left_db: float
    """Level of what is left in the second reply, against the echo."""
    cpu_ms_per_s: float


@dataclass(frozen=True, slots=True)
class Together:
    """What became of a person who speaks over the agent."""

    case: Case
    after_s: float
    first_reply: bool
    kept: float
    late_ms: int | None
    early: bool
    """An onset long before the person spoke."""


def whole(samples: Audio) -> Audio:
    """Padded to whole packets."""
    return np.concatenate([samples, np.zeros(-len(samples) % PACKET, np.float32)])


def alone(case: Case, replies: tuple[Audio, Audio], room: Audio, detector: Detector) -> Alone:
    played = np.concatenate([QUIET, replies[0], QUIET, QUIET, replies[1], QUIET])
    second = slice(3 * len(QUIET) + len(replies[0]), len(played) - len(QUIET))
    assert case.level_db is not None
    echo = echo_of(played, room, level_db=case.level_db, delay_ms=case.delay_ms)
    microphone = echo + microphone_noise(len(played))
    began = process_cpu()
    cleaned = through_canceller(microphone, played)
    cpu = (process_cpu() - began) / MS / (len(played) / ECHO_RATE_HZ)
    before, after = detector.voiced(microphone), detector.voiced(cleaned)
    return Alone(
        case=case,
        share=(float(np.mean(before)), float(np.mean(after))),
        longest=(longest(before), longest(after)),
        onsets=(len(onsets(before)), len(onsets(after))),
        left_db=20.0 * float(np.log10(rms(cleaned[second]) / rms(echo[second]))),
        cpu_ms_per_s=cpu,
    )


def together(
    case: Case, replies: tuple[Audio, Audio], room: Audio, person: Audio, place: tuple[bool, float], detector: Detector
) -> Together:
    first, after_s = place
    played = np.concatenate([QUIET, replies[0], QUIET, QUIET, replies[1], QUIET, QUIET])
    start = len(QUIET) + int(after_s * ECHO_RATE_HZ) + (0 if first else len(replies[0]) + 2 * len(QUIET))
    spoken = np.zeros(len(played), np.float32)
    spoken[start : start + len(person)] = person[: len(played) - start]
    clean = spoken + microphone_noise(len(played))
    microphone = clean
    if case.level_db is not None:
        microphone = clean + echo_of(played, room, level_db=case.level_db, delay_ms=case.delay_ms)
    reference, heard = detector.voiced(clean), detector.voiced(through_canceller(microphone, played))
    window = slice(start // FRAME_SAMPLES, (start + len(person)) // FRAME_SAMPLES + 1)
    wanted, got = onsets(reference)[0], onsets(heard)
    near = [at for at in got if at >= wanted - 5]
    return Together(
        case=case,
        after_s=after_s,
        first_reply=first,
        kept=float(np.mean(heard[window][reference[window][: len(heard[window])]])),
        late_ms=(near[0] - wanted) * 32 if near else None,
        early=any(at < wanted - 5 for at in got),
    )


async def synthesize(voice: str, texts: Sequence[str]) -> list[Audio]:
    synthesizer = make_synthesizer(voice, find_model=find, clock=monotonic)
    await synthesizer.warm()
    spoken = []
    for text in texts:
        pieces = [speech.samples async for speech in synthesizer.speak(text)]
        samples = soxr.resample(np.concatenate(pieces), synthesizer.rate_hz, ECHO_RATE_HZ).astype(np.float32)
        spoken.append(whole(np.where(samples == 0, np.float32(1e-6), samples)))
    await synthesizer.aclose()
    return spoken


def people(manifest: Path, wanted: str) -> Iterator[Audio]:
    """The speech of one set's clips, at an ordinary level."""
    for line in manifest.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["set"] == wanted and row["speech_segments_s"]:
            segments = row["speech_segments_s"]
            samples = read(manifest.parent / row["file"])
            speech = samples[int(segments[0][0] * ECHO_RATE_HZ) : int(segments[-1][1] * ECHO_RATE_HZ)]
            yield np.asarray(speech * (db(SPEECH_DB) / rms(speech)), np.float32)


def tell_alone(outcomes: Sequence[Alone]) -> None:
    """A line for each level, each delay and each room, and one for all."""
    print(f"\n{'agent alone':<22} cases  voiced frames %     longest run    with an onset   left dB")
    groups: list[tuple[str, Callable[[Case], object]]] = [
        ("level", lambda case: case.level_db),
        ("delay", lambda case: case.delay_ms),
        ("room", lambda case: case.room),
        ("all", lambda case: ""),
    ]
    for name, key in groups:
        for value in dict.fromkeys(key(outcome.case) for outcome in outcomes):
            rows = [outcome for outcome in outcomes if key(outcome.case) == value]
            share = [100 * np.mean([row.share[side] for row in rows]) for side in (0, 1)]
            run = [max(row.longest[side] for row in rows) for side in (0, 1)]
            begun = [sum(row.onsets[side] > 0 for row in rows) for side in (0, 1)]
            left = np.mean([row.left_db for row in rows])
            print(
                f"{f'{name} {value}':<22} {len(rows):5} {share[0]:8.1f} -> {share[1]:5.2f} {run[0]:8} -> {run[1]:3} "
                f"{begun[0]:8} -> {begun[1]:3} {left:9.1f}"
            )
    print(f"CPU: {np.mean([outcome.cpu_ms_per_s for outcome in outcomes]):.1f} ms per second of audio")


def tell_together(outcomes: Sequence[Together]) -> None:
    print(f"\n{'a person over it':<34} cases  frames kept %   onset late ms: median, worst   unheard  early")
    for level, first in dict.fromkeys((outcome.case.level_db, outcome.first_reply) for outcome in outcomes):
        rows = [row for row in outcomes if row.case.level_db == level and row.first_reply == first]
        late = sorted(row.late_ms for row in rows if row.late_ms is not None)
        name = f"{'no echo' if level is None else f'{level:g} dB'}, {'first' if first else 'second'} reply"
        middle = late[len(late) // 2] if late else None
        print(
            f"{name:<34} {len(rows):5} {100 * np.mean([row.kept for row in rows]):14.1f} {middle!s:>22} "
            f"{late[-1] if late else None!s:>6} {len(rows) - len(late):9} {sum(row.early for row in rows):6}"
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voice", default="piper", help="the agent's voice")
    parser.add_argument("--room", type=Path, action="append", default=[], metavar="WAV", help="a room response; repeat")
    parser.add_argument("--unseen", action="store_true", help="rooms, delays and replies that nothing was tuned on")
    parser.add_argument("--manifest", type=Path, help="recordings of people, to speak over the agent")
    parser.add_argument("--set", default="speech/picovoice-barista", help="which of them (default: %(default)s)")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    replies = asyncio.run(synthesize(options.voice, UNSEEN_REPLIES if options.unseen else REPLIES))
    pairs = [(replies[at % len(replies)], replies[(at + 1) % len(replies)]) for at in range(len(replies))]
    rooms = {name: made_room(*room) for name, room in (UNSEEN_ROOMS if options.unseen else ROOMS).items()}
    rooms |= {path.stem: read_room(path) for path in options.room}
    delays = UNSEEN_DELAYS_MS if options.unseen else DELAYS_MS
    detector = Detector()
    cases = [Case(*choice) for choice in itertools.product(LEVELS_DB, delays, rooms)]
    tell_alone([alone(case, pairs[at % len(pairs)], rooms[case.room], detector) for at, case in enumerate(cases)])
    if options.manifest is None:
        return
    persons = itertools.cycle(people(options.manifest, options.set))
    names = itertools.cycle(rooms)
    outcomes = []
    for level in (*LEVELS_DB, None):
        for at, (first, delay, after_s) in enumerate(itertools.product((True, False), (20, 200), INTERRUPTED_AFTER_S)):
            case = Case(level, delay, next(names))
            place = (first, after_s)
            outcomes.append(together(case, pairs[at % len(pairs)], rooms[case.room], next(persons), place, detector))
    tell_together(outcomes)


if __name__ == "__main__":
    main()
