"""Compare the ends of speech that turngap finds by itself with the labels of a manifest.

    python scripts/check_labels.py MANIFEST [--set NAME]

A row for each set: clips with a label, those in which no end was found, the signed mean of the errors, their
95th percentile and maximum, and the share within one 10 ms block.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from turngap.budget.errors import TurngapError
from turngap.budget.percentiles import percentile
from turngap.voice.client.clips import rows
from turngap.voice.client.options import detector
from turngap.voice.client.recording import read
from turngap.voice.client.truth import Detector, last_voiced_s, probabilities, segments

BLOCK_MS = 10.001


def error_ms(path: Path, label_s: float, find: Detector) -> float | None:
    recording = read(path)
    found = segments(probabilities(recording.mono, recording.rate_hz, find))
    end_s = last_voiced_s(recording.mono, recording.rate_hz, near_s=found[-1][1]) if found else None
    return None if end_s is None else (end_s - label_s) * 1000


def row(name: str, errors: list[float | None]) -> str:
    known = [error for error in errors if error is not None]
    if not known:
        return f"{name:<36} {len(errors):>5} {len(errors):>5}"
    sizes = sorted(abs(error) for error in known)
    within = float(np.mean([size <= BLOCK_MS for size in sizes]))
    figures = f"{np.mean(known):>8.1f} {percentile(sizes, 50):>6.0f} {percentile(sizes, 95):>6.0f} {sizes[-1]:>6.0f}"
    return f"{name:<36} {len(errors):>5} {len(errors) - len(known):>5} {figures} {100 * within:>7.0f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path, metavar="MANIFEST")
    parser.add_argument("--set", dest="chosen_set", metavar="NAME")
    args = parser.parse_args()
    make = detector()
    if make is None:
        sys.exit("the voice detector is missing; run: turngap models pull silero-vad")
    found: dict[str, list[float | None]] = {}
    for line in rows(args.manifest):
        name = str(line.get("set", "all"))
        if line.get("speech_end_s") is not None and args.chosen_set in (None, name):
            error = error_ms(args.manifest.parent / line["file"], line["speech_end_s"], make())
            found.setdefault(name, []).append(error)
    print(f"{'set':<36} {'n':>5} {'none':>5} {'bias ms':>8} {'p50':>6} {'p95':>6} {'max':>6} {'in 10 ms':>9}")
    for name, errors in found.items():
        print(row(name, errors))
    print(row("all", [error for errors in found.values() for error in errors]))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TurngapError as error:
        sys.exit(f"{error}")
