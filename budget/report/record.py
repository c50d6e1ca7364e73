"""One measured turn, as a run keeps it.

Gaps are in ms. The *heard* gap is the client's, from a recording of both sides; the *reported* gap is the server's.
Two errors can part them and each has a figure of its own: the speech end that the server believed in against the
true one, and the timing, for which both gaps are counted from the same sample of the user.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from turngap.budget.account import Account
from turngap.budget.clock import Ns, milliseconds
from turngap.budget.errors import ConfigurationError
from turngap.budget.ledger import TurnLedger
from turngap.budget.marks import Mark, Stage
from turngap.budget.verdict import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """Everything that a report needs of one turn. A figure that is unknown is None, never 0."""

    name: str
    """What people call the turn: the clip, or the conversation and its turn."""
    turn: int
    file: str | None = None
    answered: bool = False
    cut_in: bool = False
    """The agent was heard before the user's true end."""
    outcome: str | None = None

    heard_gap_ms: float | None = None
    """From the true end of the user's speech to the first audible sample heard; negative or None where cut in."""
    first_content_gap_ms: float | None = None
    """The same to the first audible sample past any opener."""
    reported_gap_ms: float | None = None
    heard_from_server_end_ms: float | None = None
    """The heard gap, counted from the sample at which the server believes that the user's speech ended."""
    speech_end_error_ms: float | None = None
    """The server's speech end less the true one; positive where the server believes it later."""

    charges_ms: Mapping[str, float | None] = field(default_factory=dict)
    """Stage -> charge. None: beside the path. No entry: unknown. Without the residual, which stands below."""
    residual_ms: float | None = None
    culprit: str | None = None
    """The stage that blew the budget, by the reported gap."""
    allowances_ms: Mapping[str, float] = field(default_factory=dict)
    tiles: tuple[tuple[str, float, float], ...] = ()
    """``(stage, start, end)`` in ms from the speech end; they cover the reported gap."""
    work: tuple[tuple[str, float, float], ...] = ()
    """Every span of work, likewise, on the path or beside it; those before the speech end are negative."""
    marks: Mapping[str, float] = field(default_factory=dict)
    """Mark -> ms from the speech end."""

    transcript: str | None = None
    reply: str | None = None
    opener: str | None = None
    """What was said before there was a reply; part of it."""
    speculation: Mapping[str, Any] = field(default_factory=dict)
    """What was begun before it was known to be wanted, and what of it was wasted."""
    reference: str | None = None
    words_wrong: int | None = None
    words_reference: int | None = None
    ledger: Mapping[str, Any] | None = None

    @property
    def disagreement_ms(self) -> float | None:
        """How far heard and reported gap lie apart, both from the same sample of the user."""
        if self.heard_from_server_end_ms is None or self.reported_gap_ms is None:
            return None
        return abs(self.heard_from_server_end_ms - self.reported_gap_ms)

    @property
    def unmeasured(self) -> bool:
        """There was a reply, and its gap could not be heard."""
        return self.answered and not self.cut_in and self.heard_gap_ms is None

    @property
    def decisive_gap_ms(self) -> float | None:
        """The gap that is held against the budget: as heard, or else as reported. A cut-in has none."""
        if self.cut_in:
            return None
        return self.reported_gap_ms if self.heard_gap_ms is None else self.heard_gap_ms

    def sentence(self) -> str:
        """The verdict on the reported gap, for people."""
        if self.reported_gap_ms is None or not self.allowances_ms:
            return "nothing was reported of this turn"
        blamed = self.culprit or Stage.RESIDUAL.value
        charge = self.residual_ms if blamed == Stage.RESIDUAL else self.charges_ms.get(blamed)
        return sentence(
            culprit=None if self.culprit is None else Stage(self.culprit),
            charge_ms=charge or 0.0,
            allowance_ms=self.allowances_ms[blamed],
            overrun_ms=self.reported_gap_ms - sum(self.allowances_ms.values()),
        )

    def to_json(self) -> dict[str, Any]:
        """Every field by its name."""
        return asdict(self)

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> "TurnRecord":
        """Read what :meth:`to_json` gave; what a newer version added is passed over."""
        known = {entry.name for entry in fields(cls)}
        chosen = {key: value for key, value in json.items() if key in known}
        for key in ("tiles", "work"):
            chosen[key] = tuple((str(stage), start, end) for stage, start, end in chosen.get(key, ()))
        try:
            return cls(**chosen)
        except TypeError as error:
            raise ConfigurationError(
                f"this is not the record of a turn ({error})", remedy="It should be an item of a run's per_turn"
            ) from error


def reckon(ledger: TurnLedger, revision: int, account: Account | None) -> dict[str, Any]:
    """The server's part of a :class:`TurnRecord`, as keyword arguments: ``TurnRecord(name=..., **reckon(...))``."""
    wording = ledger.view(revision)
    found: dict[str, Any] = {
        "turn": ledger.turn,
        "outcome": ledger.outcome and ledger.outcome.value,
        "ledger": ledger.to_json(),
    }
    if Mark.SPEECH_END in wording.marks:
        start = wording.marks[Mark.SPEECH_END].at
        found["marks"] = {mark.value: milliseconds(marked.at - start) for mark, marked in wording.marks.items()}
        found["work"] = tuple(_piece(span.stage, span.start - start, span.end - start) for span in wording.spans)
        if account is not None:
            found |= _reckoned(account, start)
    return found


def _reckoned(account: Account, start: Ns) -> dict[str, Any]:
    charged = {stage: charge for stage, charge in account.charges.items() if stage is not Stage.RESIDUAL}
    return {
        "reported_gap_ms": milliseconds(account.gap),
        "charges_ms": {k.value: None if v is None else milliseconds(v) for k, v in charged.items()},
        "residual_ms": milliseconds(account.residual),
        "culprit": account.culprit and account.culprit.value,
        "allowances_ms": {k.value: milliseconds(v) for k, v in account.allowances.items()},
        "tiles": tuple(_piece(tile.stage, tile.start - start, tile.end - start) for tile in account.tiles),
    }


def _piece(stage: Stage, start: Ns, end: Ns) -> tuple[str, float, float]:
    return stage.value, milliseconds(start), milliseconds(end)
