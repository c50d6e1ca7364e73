"""Whether what is stored adds up. Pure.

For every turn with a gap: the charges, the residual among them, add up to the gap to the nanosecond, and they are what
the turn's own ledger, reckoned once more from its marks and spans, comes to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from turngap.budget.account import Account
from turngap.budget.allowance import DEFAULT
from turngap.budget.errors import ConfigurationError
from turngap.budget.ledger import TurnLedger
from turngap.budget.store.reading import StoredTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """How many turns were looked at, and what is wrong with which."""

    turns: int
    gaps: int
    reckoned: int
    """Of those with a gap, how many had their ledger, so that it could be reckoned again."""
    findings: tuple[str, ...]


def audit(turns: Iterable[StoredTurn]) -> Audit:
    """Look at every turn."""
    count = gaps = reckoned = 0
    findings: list[str] = []
    for turn in turns:
        count += 1
        if turn.gap_ns is None:
            continue
        gaps += 1
        reckoned += turn.record is not None and turn.record.ledger is not None
        findings += (f"turn {turn.conversation}.{turn.number}: {found}" for found in _of(turn, turn.gap_ns))
    return Audit(turns=count, gaps=gaps, reckoned=reckoned, findings=tuple(findings))


def _of(turn: StoredTurn, gap_ns: int) -> Iterator[str]:
    charged = sum(ns for ns in turn.charges_ns.values() if ns is not None)
    if charged != gap_ns:
        yield f"the charges come to {charged} ns, the gap is {gap_ns} ns"
    if turn.record is None or turn.record.ledger is None:
        return
    try:
        ledger = TurnLedger.from_json(turn.record.ledger)
    except ConfigurationError as error:
        yield str(error)
        return
    account = None if ledger.revision is None else Account.of(ledger.view(ledger.revision), DEFAULT)
    if account is None:
        yield "its ledger explains no gap"
    elif account.gap != gap_ns:
        yield f"by its ledger the gap is {account.gap} ns, not {gap_ns}"
    elif dict(account.charges) != dict(turn.charges_ns):
        yield "by its ledger the charges are others"
