"""How often ``turngap check --no-regression`` is right, by the noise of real runs.

    python scripts/eval_gate.py run1.json run2.json ...     two or more runs of the same clips and configuration

Each repetition draws so many clips with replacement, and for each a pair of its runs in random order: one is the base's
turn, the other the run's. That is two runs that differ by real noise alone. Then the run's gaps are multiplied by 1.1,
which is one that is truly slower. How many of the first pass, and of the second fail, is counted for each number of
turns.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turngap.budget.gate.bootstrap import SURE, estimate
from turngap.budget.gate.compare import gaps
from turngap.budget.store.reading import load

SIZES = (25, 50, 100, 200, 300, 400, 600, 800)


def pairs(runs: Sequence[dict[str, Any]]) -> list[list[float]]:
    """For each clip that at least two runs measured, the logarithms of its gaps."""
    known = [gaps(run) for run in runs]
    names = sorted({name for each in known for name in each})
    found = [[float(np.log(gap)) for each in known for gap in each.get(name, ())] for name in names]
    return [each for each in found if len(each) >= 2]


def repeated(clips: list[list[float]], n: int, chance: np.random.Generator, slower: float) -> bool:
    """Whether the gate fails a run of ``n`` clips that is truly so much slower."""
    ratios = []
    for index in chance.integers(len(clips), size=n):
        ours, theirs = chance.choice(clips[index], size=2, replace=False)
        ratios.append(ours - theirs + np.log(slower))
    found = estimate(np.array(ratios))
    return found is not None and found.low > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="runs of the same clips")
    parser.add_argument("--times", type=int, default=400, help="repetitions for each number of turns")
    parser.add_argument("--slower", type=float, default=1.1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    clips, chance = pairs([load(name) for name in args.runs]), np.random.default_rng(1)
    spread = np.concatenate([np.array(each) - np.mean(each) for each in clips])
    rows = []
    for n in SIZES:
        passed = sum(not repeated(clips, n, chance, 1.0) for _ in range(args.times)) / args.times
        failed = sum(repeated(clips, n, chance, args.slower) for _ in range(args.times)) / args.times
        rows.append({"turns": n, "same_passes": passed, "slower_fails": failed})
        print(rows[-1], flush=True)
    found = {"clips": len(clips), "spread_of_log_gap": float(spread.std()), "sure": SURE, "rows": rows}
    print(json.dumps({key: value for key, value in found.items() if key != "rows"}))
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
