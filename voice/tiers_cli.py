"""``turngap tiers``: what each tier is said to do; with ``--model``, what physics allows on some hardware."""

import argparse
import json
from typing import Any

from turngap.budget.errors import ConfigurationError
from turngap.llm.tiers.catalogue import TIERS
from turngap.llm.tiers.figure import Figure
from turngap.llm.tiers.memory_wall import (
    HARDWARE,
    Hardware,
    Load,
    ceiling,
    chips,
    find_hardware,
    loop_s,
    prefill_s,
    tokens_at_once,
)

_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_CLAUSE_TOKENS = 6
"""About what the first piece worth speaking takes: four words and a mark."""


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> argparse.ArgumentParser:
    """Add ``tiers`` to the command's parsers; its ``run`` default is :func:`run`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "tiers", help="published speeds with their sources, and the memory wall", description=__doc__
    )
    parser.add_argument("--json", action="store_true", help="print the catalogue as JSON")
    wall = parser.add_argument_group("the memory wall")
    wall.add_argument("--model", metavar="SIZE", help="parameters, such as 70B")
    wall.add_argument("--active", metavar="SIZE", help="those that one token uses, of a mixture of experts")
    wall.add_argument("--bits", type=float, default=16, help="of a weight (default %(default)g)")
    wall.add_argument("--hardware", default="h100", help=f"one of {', '.join(HARDWARE)} (default %(default)s)")
    wall.add_argument("--context", type=int, default=0, metavar="N", help="tokens of context read with each token")
    wall.add_argument("--kv-kb", type=float, default=0.0, metavar="KB", help="keys and values of one token, in 1000 B")
    wall.add_argument("--prompt", type=int, default=500, metavar="N", help="tokens to prefill (default %(default)s)")
    wall.add_argument("--use", type=float, default=0.4, help="of the peak arithmetic in prefill (default %(default)g)")
    wall.add_argument("--budget", type=float, default=500.0, metavar="MS", help="the gap (default %(default)g)")
    wall.add_argument("--other", type=float, default=395.0, metavar="MS", help="of it, for all but the model")
    wall.add_argument("--calls", type=int, default=20, metavar="N", help="an agent's calls in series")
    wall.add_argument("--tokens", type=int, default=800, metavar="M", help="of each of them")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print what was asked for; 0 always, since nothing is measured."""
    if arguments.json:
        print(json.dumps([tier.to_json() for tier in TIERS], indent=1, ensure_ascii=False))
        return 0
    if arguments.model is None:
        _catalogue()
    else:
        _wall(arguments)
    _loops(arguments.calls, arguments.tokens)
    return 0


def parameters(text: str) -> float:
    """``70B`` as a number; a ConfigurationError where it is none."""
    unit = _UNITS.get(text[-1:].upper())
    try:
        return float(text if unit is None else text[:-1]) * (unit or 1)
    except ValueError as error:
        raise ConfigurationError(f"'{text}' is not a number of parameters", remedy="For example 70B") from error


def _catalogue() -> None:
    print(f"{'tier':24}{'ttft ms':>9}  {'grade':12}{'tok/s':>7}  {'grade':12} rate's source")
    for tier in TIERS:
        source = "–" if tier.rate is None else f"{tier.rate.source}, {tier.rate.date}"
        print(f"{tier.name:24}{_cells(tier.ttft_ms, 9)}{_cells(tier.rate, 7)} {source}")


def _cells(figure: Figure | None, width: int) -> str:
    return f"{'–':>{width}}  {'unknown':12}" if figure is None else f"{figure.value:>{width}g}  {figure.grade:12}"


def _wall(arguments: argparse.Namespace) -> None:
    chip = find_hardware(arguments.hardware)
    weights = parameters(arguments.model)
    load = Load(
        weights=weights,
        active=weights if arguments.active is None else parameters(arguments.active),
        bits=arguments.bits,
        context=arguments.context,
        kv_bytes=arguments.kv_kb * 1000,
    )
    count = chips(load, chip)
    print(f"{chip.title}: {chip.bandwidth / 1e12:g} TB/s, {chip.memory_bytes / 1e9:g} GB ({chip.source})")
    print(f"  read for each token   {load.read_bytes() / 1e9:.1f} GB, kept {load.kept_bytes / 1e9:.1f} GB")
    print(f"  ceiling, by the bandwidth of one chip  {ceiling(load, chip):.0f} tok/s")
    where = "on-chip SRAM" if chip.sram else "memory"
    print(
        f"  chips to hold it in {where}  {count}; ceiling with these in parallel {_rate(load, chip, count):.0f} tok/s"
    )
    for bits in (8, 4):
        if bits < load.bits:
            fewer = Load(**{key: getattr(load, key) for key in ("weights", "active", "context", "kv_bytes")}, bits=bits)
            print(f"  with {bits} bits  {ceiling(fewer, chip):.0f} tok/s on one chip, {chips(fewer, chip)} to hold it")
    for batch in (8, 64):
        each = ceiling(load, chip, batch=batch)
        print(f"  {batch} conversations at once  {each:.0f} tok/s each, {batch * each:.0f} in all")
    gain = tokens_at_once(drafted=4, acceptance=0.8)
    print(f"  4 tokens drafted, 80 % right  {gain * ceiling(load, chip):.0f} tok/s, the drafting left out")
    _verdict(arguments, load, chip, count)


def _rate(load: Load, chip: Hardware, count: int) -> float:
    return ceiling(load, chip, count=count)


def _verdict(arguments: argparse.Namespace, load: Load, chip: Hardware, count: int) -> None:
    first = 1000 * prefill_s(load, chip, prompt=arguments.prompt, count=count, use=arguments.use)
    clause = 1000 * (_CLAUSE_TOKENS - 1) / _rate(load, chip, count)
    total = arguments.other + first + clause
    kept = "keeps" if total <= arguments.budget else "breaks"
    print(
        f"  prefill of {arguments.prompt} tokens on {count}  {first:.0f} ms at {arguments.use:.0%} of peak, no network"
    )
    print(f"  first clause, {_CLAUSE_TOKENS} tokens  {clause:.0f} ms more")
    print(
        f"  with {arguments.other:g} ms for the other stages: {total:.0f} ms, {kept} a gap of {arguments.budget:g} ms"
    )


def _loops(calls: int, tokens: int) -> None:
    print(f"\n{calls} calls in series of {tokens} tokens: seconds of decode, and with each call's TTFT")
    for rate in (70.0, 750.0):
        print(f"  {f'at {rate:g} tok/s':24}{loop_s(calls=calls, tokens=tokens, rate=rate):8.1f}")
    for tier in TIERS:
        if tier.rate is not None and tier.ttft_ms is not None:
            rate, ttft = tier.rate.value, tier.ttft_ms.value / 1000
            alone = loop_s(calls=calls, tokens=tokens, rate=rate)
            print(f"  {tier.name:24}{alone:8.1f}{loop_s(calls=calls, tokens=tokens, rate=rate, ttft_s=ttft):8.1f}")
