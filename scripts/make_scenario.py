"""Build a conversation for the third-party harness ``voicebench`` out of human recordings.

OUT gets one WAV a turn and ``scenario.yaml`` (JSON, which is YAML too). The turns say what an agent has to do with
them: respond, stop (real words over its reply), or ignore (a backchannel, a cough, a tap, over its reply or after it).

    python scripts/make_scenario.py OUT --from MANIFEST
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from turngap.budget.errors import ConfigurationError, TurngapError
from turngap.voice.client import cuts
from turngap.voice.client.clips import rows
from turngap.voice.client.recording import read, write_mono

RATE_HZ: Final = 16_000
BARISTA: Final = "speech/picovoice-barista/clips"

STOP_MS: Final = 500
"""Within so long real words must have silenced the agent."""
KEEP_MS: Final = 1500
"""For so long after a noise the agent must still be speaking. Longer than the decision, so that a late stop shows."""
BRIDGE_MS: Final = 700
"""An agent that waits less than this goes on with the same reply: it may pause while it finds out whether it was
interrupted, half a second at most, and between two sentences. The harness's own 250 ms would call each an end."""
TIMEOUT_MS: Final = 15_000
LONGEST_MS: Final = 240_000
PATIENCE_MS: Final = 4000
"""From the end of the user's speech; nothing after a noise in silence for so long means that it was ignored."""

Anchor = Literal["session_start", "previous_turn_end", "agent_speech_start", "agent_speech_end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn: a recording of the manifest, when it is played, and what the agent has to do."""

    name: str
    file: str
    expect: Literal["respond", "stop", "ignore"]
    after: Anchor
    delay_ms: int
    cut: tuple[float, float] | None = None
    """From and to in seconds; where there is none, the manifest's label of the voice tells."""
    scored: bool = False
    """Whether the manifest's reference text is given to the harness, to count word errors by."""


TURNS: Final = (
    Said(
        name="asks-the-time", file="speech/rhasspy/what_time_is_it.wav", expect="respond",
        after="session_start", delay_ms=500, scored=True,
    ),
    # A short "mm" of another meeting's listener; annotated as hers alone, 0.32 s with a pitch of 110 Hz.
    Said(
        name="murmurs-along", file="speech/ami/tst01.wav", expect="ignore",
        after="agent_speech_start", delay_ms=500, cut=(28.98, 29.40),
    ),
    Said(
        name="orders", file=f"{BARISTA}/253b08c9-e468-4e4d-8036-3720fb827f2d.wav", expect="respond",
        after="agent_speech_end", delay_ms=500,
    ),
    # One that begins at once: where a breath comes first, the agent has stopped before the harness hears an onset.
    Said(
        name="orders-over-it", file=f"{BARISTA}/7d3c97b9-4f83-4def-a080-1b13f661acbf.wav", expect="stop",
        after="agent_speech_start", delay_ms=700,
    ),
    Said(
        name="taps-the-microphone",
        file="noise/audiomentations/130921_laptopmic-dell_tap_channel0_chunk200_aug0.wav", expect="ignore",
        after="agent_speech_start", delay_ms=500, cut=(0.0, 1.2),
    ),
    Said(
        name="asks-a-question", file="speech/google-docs-samples/audio.wav", expect="respond",
        after="agent_speech_end", delay_ms=500, scored=True,
    ),
    Said(
        name="says-yes-along", file="speech/speech-commands/yes_1000ms.wav", expect="ignore",
        after="agent_speech_start", delay_ms=500, cut=(0.42, 0.92),
    ),
    Said(
        name="commands", file="speech/rhasspy/turn_on_living_room_lamp.wav", expect="respond",
        after="agent_speech_end", delay_ms=500, scored=True,
    ),
    Said(
        name="interrupts-at-once", file="speech/rhasspy/would_you_please_turn_on_living_room_lamp.wav", expect="stop",
        after="agent_speech_start", delay_ms=200, scored=True,
    ),
    # 0.5 s without pitch and without words, annotated as a speaker's: a cough or a laugh.
    Said(
        name="coughs", file="speech/ami/trn01.wav", expect="ignore",
        after="agent_speech_start", delay_ms=500, cut=(18.82, 19.36),
    ),
    Said(
        name="does-the-dishes", file="noise/speech-commands/doing_the_dishes.wav", expect="ignore",
        after="agent_speech_end", delay_ms=1000, cut=(10.0, 13.0),
    ),
    Said(
        name="orders-again", file=f"{BARISTA}/b53b17e0-0e9f-478c-a939-05de590c45fc.wav", expect="respond",
        after="previous_turn_end", delay_ms=PATIENCE_MS + 200,
    ),
    Said(
        name="interrupts-late", file="speech/google-docs-samples/audio.wav", expect="stop",
        after="agent_speech_start", delay_ms=1500, scored=True,
    ),
    Said(
        name="rubs-the-microphone",
        file="noise/audiomentations/130921_iPhone_rub_channel0_chunk83_aug2.wav", expect="ignore",
        after="agent_speech_start", delay_ms=500, cut=(0.0, 0.75),
    ),
    Said(
        name="orders-at-last", file=f"{BARISTA}/61b6baf5-cad2-4f60-965c-8cbbfb73389a.wav", expect="respond",
        after="agent_speech_end", delay_ms=500,
    ),
)  # fmt: skip


def bounds(row: Mapping[str, Any], said: Said) -> tuple[float, float]:
    """Where in the recording the turn lies. Raises ConfigurationError where nothing tells."""
    return cuts.bounds(row) if said.cut is None else said.cut


def turn(said: Said, row: Mapping[str, Any]) -> dict[str, Any]:
    """The turn as the harness reads it."""
    fields: dict[str, Any] = {
        "id": said.name,
        "audio": {"file": f"{said.name}.wav"},
        "start": {"after": said.after, "delay_ms": said.delay_ms, "timeout_ms": TIMEOUT_MS},
        "expect": said.expect,
        "response_timeout_ms": PATIENCE_MS,
        "max_stop_ms": KEEP_MS if said.expect == "ignore" else STOP_MS,
    }
    return fields | ({"text": row["text"]} if said.scored else {})


def scenario(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The whole, with the limits that the harness itself holds the run against."""
    return {
        "name": "people",
        "description": "Human recordings: questions, orders, interruptions, backchannels and noises.",
        "sample_rate": RATE_HZ,
        "max_duration_ms": LONGEST_MS,
        "vad": {"agent": {"min_silence_ms": BRIDGE_MS}},
        "adapter": {"type": "websocket", "options": {"start_message": {"type": "start"}}},
        "turns": turns,
        "assert": {
            "max_missed_responses": 0,
            "min_barge_in_success_rate": 1.0,
            "max_barge_in_stop_ms": STOP_MS,
            "max_false_barge_ins": 0,
        },
    }


def build(out: Path, manifest: Path) -> Path:
    """Write the clips and the scenario; returns the scenario's path."""
    known = {row["file"]: row for row in rows(manifest)}
    out.mkdir(parents=True, exist_ok=True)
    turns = []
    for said in TURNS:
        if said.file not in known:
            raise ConfigurationError(f"{manifest} has no {said.file}", remedy="Give the manifest of all recordings")
        recording = read(manifest.parent / said.file)
        start_s, end_s = bounds(known[said.file], said)
        part = cuts.cut(recording.mono, recording.rate_hz, start_s=start_s, end_s=end_s, to_hz=RATE_HZ)
        write_mono(out / f"{said.name}.wav", part, RATE_HZ)
        turns.append(turn(said, known[said.file]))
    path = out / "scenario.yaml"
    path.write_text(json.dumps(scenario(turns), indent=2) + "\n", encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--from", dest="manifest", type=Path, required=True, metavar="MANIFEST")
    args = parser.parse_args()
    path = build(args.out, args.manifest)
    print(f"{len(TURNS)} turns in {path}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TurngapError as error:
        sys.exit(f"{error}")
