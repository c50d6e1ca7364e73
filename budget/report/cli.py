"""``turngap report``: a run as one HTML file, to look at, to send, to keep."""

import argparse
import base64
from importlib import resources
from pathlib import Path

from turngap.budget.errors import ConfigurationError
from turngap.budget.gate.compare import compare
from turngap.budget.report.page import page
from turngap.budget.store.reading import load, sounds


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("report", help="write a run as one HTML file", description=__doc__)
    parser.add_argument("run_name", metavar="RUN", help="a run's id or how it begins, 'last', or the path of its JSON")
    parser.add_argument("--against", metavar="BASE", help="another run to compare with")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: turngap-RUN.html")
    parser.add_argument("--store", metavar="PATH", help="the store (default: TURNGAP_STORE, else the user's own)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    shown = load(args.run_name, args.store)
    base = None if args.against is None else load(args.against, args.store)
    template = resources.files("turngap.budget.report").joinpath("page.html").read_text("utf-8")
    heard = [_url(sound) for sound in sounds(args.run_name, args.store)]
    comparison = None if base is None else compare(shown, base)
    out: Path = args.out or Path(f"turngap-{shown.get('run') or 'run'}.html")
    try:
        out.write_text(page(template, shown, base=base, comparison=comparison, sounds=heard), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{out} cannot be written: {error.strerror}", remedy="Check --out") from error
    print(out)
    return 0


def _url(sound: tuple[str, bytes] | None) -> str | None:
    return None if sound is None else f"data:{sound[0]};base64,{base64.b64encode(sound[1]).decode()}"
