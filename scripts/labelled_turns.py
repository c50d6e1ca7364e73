"""The turns that endpointing is judged by: recordings whose end is known, one by one, as they sound under a condition.

A meeting has several speakers. By the RTTM beside the recording, a pause after which the same speaker goes on is inside
a turn, and where another one begins it has ended; what follows is replaced by the room's own noise, since the agent
hears one speaker.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import LEVEL_BLOCK_MS, block_levels
from turngap.voice.client.conditions import apply
from turngap.voice.client.recording import read, resampled
from turngap.voice.client.truth import last_voiced_s
from turngap.voice.endpointing.protocol import VAD_RATE_HZ

BLOCK: Final = VAD_RATE_HZ * LEVEL_BLOCK_MS // 1000
AFTER_S: Final = 2.5
"""Room after the speech, for the slowest policy; made of noise at the recording's own floor where it has too little."""
MONOLOGUE_S: Final = 12.0
"""Longer recordings of the Microsoft set are read texts and dialogues, not queries."""

SHORTEST_S: Final = 1.0
LEAD_S: Final = 0.3
LONGEST_PAUSE_S: Final = 3.0
"""Of one speaker in a meeting; who says nothing for longer has given the floor away."""

SETS: Final = {
    "orders and queries": (
        "picovoice-barista",
        "google-docs-samples",
        "microsoft-speech-sdk",
        "rhasspy",
        "unmute-loadtest",
        "pocketsphinx",
    ),
    "reading and dictation": ("librispeech-test-other", "vosk", "jfk", "watson", "microsoft-speech-sdk"),
    "meetings": ("ami",),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one recording, at 16 kHz, with room after it."""

    group: str
    name: str
    samples: NDArray[np.float32]
    speech_end: int
    key: str


def labelled_turns(manifest: Path, condition: str, noise: Path | None, room: Path | None) -> Iterator[Turn]:
    """Every turn of the sets, as it sounds under ``condition``."""
    around, response = _mono(noise), _mono(room)
    for line in manifest.read_text("utf-8").splitlines():
        row = json.loads(line)
        name, segments = row["set"].rpartition("/")[2], row["speech_segments_s"]
        for group in (group for group, names in SETS.items() if name in names and segments):
            long = row["seconds"] > MONOLOGUE_S
            if name == "microsoft-speech-sdk" and long == (group == "orders and queries"):
                continue
            recording = read(manifest.parent / row["file"])
            samples = resampled(recording.mono, recording.rate_hz, VAD_RATE_HZ)
            ends = _ends(row, manifest.parent, samples)
            samples = apply(
                samples,
                VAD_RATE_HZ,
                condition,
                speech=segments,
                noise=around,
                room=response,
                seed=len(samples),
            )
            for number, (start_s, end_s) in enumerate(ends):
                part = samples[round(start_s * VAD_RATE_HZ) :]
                speech_end = round((end_s - start_s) * VAD_RATE_HZ)
                if group == "meetings":
                    part = part[: speech_end + round(0.05 * VAD_RATE_HZ)]
                part = _with_room(part, speech_end)
                yield Turn(group, f"{row['file']}#{number}", part, speech_end, _key(part))


def _mono(path: Path | None) -> NDArray[np.float32] | None:
    if path is None:
        return None
    recording = read(path)
    return resampled(recording.mono, recording.rate_hz, VAD_RATE_HZ)


def _key(samples: NDArray[np.float32]) -> str:
    return hashlib.sha256(samples.tobytes()).hexdigest()[:24]


def _ends(row: dict[str, Any], folder: Path, samples: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Start and end of each turn, in seconds."""
    rttm = folder / row["file"]
    turns = _meeting([line.split() for path in rttm.parent.glob("*.rttm") for line in _lines(path)], rttm.stem)
    if not turns:
        return [(0.0, row["speech_end_s"] or row["speech_segments_s"][-1][1])]
    refined = [(start, last_voiced_s(samples, VAD_RATE_HZ, near_s=end) or end) for start, end in turns]
    return [(start, end) for start, end in refined if end - start >= SHORTEST_S]


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _meeting(rttm: list[list[str]], name: str) -> list[tuple[float, float]]:
    """The turns of a meeting that nobody else spoke into at their end."""
    spoken = sorted(
        (float(line[3]), float(line[3]) + float(line[4]), line[7])
        for line in rttm
        if line and line[0] == "SPEAKER" and line[1] == name
    )
    found: list[tuple[float, float, str]] = []
    for start, end, speaker in spoken:
        if found and found[-1][2] == speaker and start - found[-1][1] < LONGEST_PAUSE_S:
            found[-1] = (found[-1][0], max(end, found[-1][1]), speaker)
        else:
            found.append((start, end, speaker))
    return [
        (max(0.0, start - LEAD_S), end)
        for start, end, speaker in found
        if not any(other != speaker and begin < end + 0.1 and until > end - 0.3 for begin, until, other in spoken)
    ]


def _with_room(samples: NDArray[np.float32], speech_end: int) -> NDArray[np.float32]:
    missing = max(0, speech_end + round(AFTER_S * VAD_RATE_HZ) - len(samples))
    floor_db = min(float(np.percentile(block_levels(samples, BLOCK), 10)), -45.0)
    hiss = np.random.default_rng(0).normal(0, 10 ** (floor_db / 20), missing)
    return np.concatenate([samples, hiss.astype(np.float32)])
