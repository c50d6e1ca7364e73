"""``turngap check``: fail a build whose run is not good enough, or worse than another.

Exit codes: 0 every demand is met, 1 one is not, 2 the options make no sense, 3 a run cannot be read."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from turngap.budget.errors import ConfigurationError
from turngap.budget.gate.compare import compare
from turngap.budget.gate.demands import Demands, Finding, judge_run
from turngap.budget.gate.formats import annotations, junit
from turngap.budget.gate.show import findings_table
from turngap.budget.percentiles import RANKS
from turngap.budget.store.reading import load

MET, BROKEN, UNREADABLE = 0, 1, 3
RUN_HELP: Final = "a run's id or how it begins, 'last', or the path of its JSON"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("check", help="fail a build whose run is not good enough", description=__doc__)
    parser.add_argument("run_name", metavar="RUN", help=RUN_HELP)
    for rank in RANKS:
        parser.add_argument(f"--p{rank}", type=float, metavar="MS", help=f"the {rank}th percentile of the gap, at most")
    parser.add_argument("--within", type=share, metavar="SHARE", help="of turns within the run's budget, at least")
    parser.add_argument("--max-cut-in-rate", type=share, metavar="SHARE", help="of turns that were cut in on, at most")
    parser.add_argument("--against", metavar="BASE", help="another run to compare with, clip by clip")
    parser.add_argument("--no-regression", action="store_true", help="not slower than BASE by more than chance")
    parser.add_argument(
        "--resolve", type=float, metavar="PERCENT", help="enough turns that a slowdown of so much would have been found"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the findings as JUnit XML")
    parser.add_argument(
        "--github", action="store_true", help="print GitHub annotations (always where GITHUB_ACTIONS is set)"
    )
    parser.add_argument("--store", metavar="PATH", help="the store (default: TURNGAP_STORE, else the user's own)")
    parser.set_defaults(run=lambda args: run(args, parser))


def run(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    demands = demands_of(args, parser)
    try:
        checked = load(args.run_name, args.store)
        base = None if args.against is None else load(args.against, args.store)
    except ConfigurationError as error:
        print(f"turngap: {error}", file=sys.stderr)
        return UNREADABLE
    findings = judge_run(checked, demands, None if base is None else compare(checked, base))
    Console().print(findings_table(findings))
    tell(args, findings, name=str(checked.get("run")))
    return MET if all(finding.met for finding in findings) else BROKEN


def demands_of(args: argparse.Namespace, parser: argparse.ArgumentParser) -> Demands:
    percentiles = {rank: getattr(args, f"p{rank}") for rank in RANKS if getattr(args, f"p{rank}") is not None}
    if (args.no_regression or args.resolve is not None) and args.against is None:
        parser.error("--no-regression and --resolve need --against BASE")
    if args.against is not None and not args.no_regression and args.resolve is None:
        parser.error("--against BASE demands nothing by itself; add --no-regression")
    if not percentiles and args.within is None and args.max_cut_in_rate is None and args.against is None:
        parser.error("nothing is demanded; give --p95 MS, --within SHARE, ...")
    return Demands(
        percentiles_ms=percentiles,
        within=args.within,
        max_cut_in_rate=args.max_cut_in_rate,
        no_regression=args.no_regression,
        resolve=args.resolve,
    )


def tell(args: argparse.Namespace, findings: list[Finding], *, name: str) -> None:
    """The findings for the machinery around us."""
    if args.github or os.environ.get("GITHUB_ACTIONS"):
        for line in annotations(findings):
            print(line)
    if args.junit is not None:
        try:
            args.junit.write_text(junit(findings, name=name), encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{args.junit} cannot be written: {error.strerror}") from error


def share(text: str) -> float:
    """A share from 0 to 1; argparse reports what is not."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value
