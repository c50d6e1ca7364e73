"""The ``turngap`` command."""

import argparse
import os
import sys
from collections.abc import Sequence

from turngap.budget.errors import TurngapError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors of ours end in one line that names cause and remedy, and exit code 1."""
    # numpy's OpenBLAS lets its threads spin for a while after each product. The recogniser multiplies a small matrix
    # before every pass, and on two cores the spinning cost its encoder 40 of 160 ms. To be set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from turngap.budget import runs_cli
    from turngap.budget.gate import cli as check
    from turngap.budget.report import cli as report
    from turngap.voice import replies_cli, serve, tiers_cli
    from turngap.voice.client import bench, replay
    from turngap.voice.models import cli as models

    parser = argparse.ArgumentParser(
        prog="turngap",
        description="A real-time voice pipeline that keeps a turn gap budget, and names the stage that blew it.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (serve, replay, bench, check, report, runs_cli, models, replies_cli, tiers_cli):
        command.add_parser(subparsers)
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except TurngapError as error:
        print(f"turngap: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
