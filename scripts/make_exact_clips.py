"""Build clips whose end of speech is exact by construction, to measure what labels found by ear or energy cannot tell.

Speech is cut at its last voiced sample, and the recording's own room tone follows. OUT gets the WAVs and a
manifest.jsonl with ``speech_end_s``.

    python scripts/make_exact_clips.py OUT --from MANIFEST --set speech/picovoice-barista --limit 30
"""

import argparse
import json
import sys
from pathlib import Path

from turngap.budget.errors import TurngapError
from turngap.voice.client import room_tone
from turngap.voice.client.clips import Clip, collect
from turngap.voice.client.options import detector
from turngap.voice.client.recording import read, write_mono
from turngap.voice.client.truth import Detector, last_voiced_s, probabilities, segments


def exact(clip: Clip, find: Detector | None) -> tuple[room_tone.ExactClip, int] | None:
    """The clip cut at its end, and its rate; None where its end or its quiet is not known."""
    recording = read(clip.path)
    start_s, end_s = 0.0, clip.speech_end_s
    if find is not None:
        found = segments(probabilities(recording.mono, recording.rate_hz, find))
        if not found:
            return None
        start_s = found[0][0]
        if end_s is None:
            end_s = last_voiced_s(recording.mono, recording.rate_hz, near_s=found[-1][1])
    if end_s is None:
        return None
    made = room_tone.exact(recording.mono, recording.rate_hz, start_s=start_s, end_s=end_s)
    return None if made is None else (made, recording.rate_hz)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--from", dest="manifest", type=Path, required=True, metavar="MANIFEST")
    parser.add_argument("--set", dest="chosen_set", metavar="NAME")
    parser.add_argument("--limit", type=int, default=30, metavar="N")
    args = parser.parse_args()
    make = detector()
    args.out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    passed_over = 0
    for clip in collect(args.manifest, chosen_set=args.chosen_set):
        if len(lines) == args.limit:
            break
        found = exact(clip, make() if make else None)
        if found is None:
            passed_over += 1
            continue
        made, rate_hz = found
        name = f"{len(lines) + 1:03d}-{clip.path.stem}.wav"
        write_mono(args.out / name, made.samples, rate_hz)
        row = {"file": name, "set": "exact", "rate_hz": rate_hz, "channels": 1, "text": clip.text}
        lines.append(json.dumps(row | {"speech_end_s": made.speech_end_s}))
    (args.out / "manifest.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} clips in {args.out}, {passed_over} passed over for want of room tone or a known end")
    return 0 if lines else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TurngapError as error:
        sys.exit(f"{error}")
