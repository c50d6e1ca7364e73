"""Clips: which recordings a run plays, and what is known of each before it is played."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.budget.errors import ConfigurationError
from turngap.voice.client import room_tone
from turngap.voice.client.recording import SUFFIXES, Recording, read, resampled
from turngap.voice.client.truth import Detector, Utterance, one_turn, probabilities, utterances


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A recording to play, with its label and reference text where it has them."""

    path: Path
    name: str
    speech_end_s: float | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A clip that can be played: its audio, the user's turns in it, and its own room tone (None if it has none)."""

    clip: Clip
    recording: Recording
    users: tuple[Utterance, ...]
    quiet: NDArray[np.float32] | None

    @property
    def speech_end_s(self) -> float | None:
        """The end of the last of the user's turns."""
        return self.users[-1].end_s if self.users else None

    def at_rate(self, rate_hz: int, channels: int) -> NDArray[np.float32]:
        """The audio as a line of that rate and so many channels takes it."""
        samples = self.recording.samples if channels == self.recording.channels else self.recording.mono[:, None]
        return np.repeat(resampled(samples, self.recording.rate_hz, rate_hz), channels // samples.shape[1], axis=1)

    def quiet_at_rate(self, rate_hz: int) -> NDArray[np.float32] | None:
        """The room tone, as a piece that can follow itself for ever."""
        if self.quiet is None:
            return None
        return room_tone.loop(resampled(self.quiet, self.recording.rate_hz, rate_hz), rate_hz)


def collect(path: Path, *, chosen_set: str | None = None, limit: int | None = None) -> list[Clip]:
    """The clips of a manifest (JSON lines), of a folder that holds one, of any folder, or of one recording."""
    if path.is_dir() and (path / "manifest.jsonl").is_file():
        path = path / "manifest.jsonl"
    if path.suffix == ".jsonl":
        clips = _of_manifest(path, chosen_set)
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
        clips = [Clip(path=file, name=str(file.relative_to(path))) for file in files]
    else:
        clips = [Clip(path=path, name=path.name)]
    if not clips:
        wanted = f"set {chosen_set} of {path}" if chosen_set else str(path)
        raise ConfigurationError(f"there are no recordings in {wanted}", remedy=_other_sets(path))
    return clips[:limit]


def prepare(clip: Clip, detector: Callable[[], Detector] | None, *, turns: bool, keep_stereo: bool = False) -> Ready:
    """Read a clip and find the user's speech in it.

    ``turns`` looks for several turns in a clip without a label; else it is one turn. Without a detector only a label
    tells where the speech ends. Raises ConfigurationError for what cannot be read.
    """
    recording = read(clip.path, keep_stereo=keep_stereo)
    found: list[Utterance] = []
    if detector is not None:
        voice = probabilities(recording.mono, recording.rate_hz, detector())
        found = utterances(recording.mono, recording.rate_hz, voice)
    if not turns or clip.speech_end_s is not None:
        whole = one_turn(found, label_s=clip.speech_end_s)
        found = [] if whole is None else [whole]
    quiet = None
    if found:
        # Only what lies outside all of the speech may be taken for room tone.
        start_s = found[0].start_s if detector is not None else 0.0
        quiet = room_tone.find(recording.mono, recording.rate_hz, start_s=start_s, end_s=found[-1].end_s)
    return Ready(clip=clip, recording=recording, users=tuple(found), quiet=quiet)


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a manifest. Raises ConfigurationError, naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", remedy="Give a manifest, or a folder") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ConfigurationError(f"line {number} of {path} is not JSON: {error}") from error
        if not isinstance(row, dict) or not isinstance(row.get("file"), str):
            raise ConfigurationError(f"line {number} of {path} names no file", remedy='Each line needs {"file": ...}')
        found.append(row)
    return found


def _of_manifest(path: Path, chosen_set: str | None) -> list[Clip]:
    chosen = [row for row in rows(path) if chosen_set is None or _in_set(row, chosen_set)]
    return [
        Clip(
            path=path.parent / row["file"],
            name=Path(row["file"]).stem,
            speech_end_s=row.get("speech_end_s"),
            text=row.get("text"),
        )
        for row in _with_speech(chosen)
    ]


def _with_speech(found: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Rows that a turn can be made of: noise, known to hold no speech, is nobody's turn."""
    return [row for row in found if row.get("speech_segments_s") != [] or row.get("speech_end_s") is not None]


def _in_set(row: Mapping[str, Any], chosen_set: str) -> bool:
    """A set is chosen by its name, or by the last part of it."""
    name = str(row.get("set", ""))
    return chosen_set in {name, name.rpartition("/")[2]}


def _other_sets(path: Path) -> str:
    if path.suffix != ".jsonl" or not path.is_file():
        return "Give a manifest.jsonl, a folder of recordings, or one recording"
    names = sorted({str(row["set"]) for row in rows(path) if "set" in row})
    return f"It has: {', '.join(names)}" if names else "It names no sets"
