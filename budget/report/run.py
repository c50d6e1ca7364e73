"""The summary of a run: one JSON object that other tools read.

What counts where:

* ``turns`` are all turns of the user. ``within_budget`` is the share *of all of them* that was answered, not cut in
  on, and whose heard gap kept the budget: a turn without a reply, or whose gap could not be heard, did not keep it.
  (Where nobody but the server listened, the reported gap counts instead; ``decided_by`` says which.)
* A cut-in (the agent was heard before the user's true end) counts in ``turns`` and ``cut_ins``, and in ``wer``. It
  has no gap, so it is in no percentile of gaps, stages or residual; nor in the speech end error, since what went
  wrong there was the decision, not the estimate.
* ``unmeasured`` are answered turns whose gap could not be heard. Every summary counts beside its ``n`` the turns whose
  figure is ``unknown``: answered, no cut-in, and no figure.
* ``stages_ms`` are charges along the critical path. ``n`` are the turns with the stage on the path, ``beside`` those
  with the stage beside it, ``unknown`` those in which it was not measured.
* ``blame`` counts turns over the budget, by the gap that decides (heard, or else reported), under the stage that blew
  it. ``unexplained`` are turns that were heard to be over, though by the server's reckoning no stage blew it.
* ``disagreement_ms`` is absolute, ``speech_end_error_ms`` has a signed mean (``bias``) and absolute percentiles.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from turngap.budget.allowance import Budget
from turngap.budget.clock import milliseconds
from turngap.budget.marks import Stage
from turngap.budget.percentiles import Summary
from turngap.budget.report.record import TurnRecord

__all__ = ["SCHEMA", "TurnRecord", "summarise"]

SCHEMA: Final = "turngap.run/1"


def summarise(
    turns: Sequence[TurnRecord], *, budget: Budget, config: Mapping[str, Any], heard: bool = True
) -> dict[str, Any]:
    """The run as JSON; ``config`` (models, versions, machine) is passed through. In a run in which nobody but the
    server listened (``heard=False``) its word decides, and no turn is ``unmeasured``."""
    gapped = [turn for turn in turns if turn.answered and not turn.cut_in]
    over = [turn for turn in gapped if (turn.decisive_gap_ms or 0) > milliseconds(budget.total)]
    return {
        "schema": SCHEMA,
        "turns": len(turns),
        "answered": sum(turn.answered for turn in turns),
        "cut_ins": sum(turn.cut_in for turn in turns),
        "unmeasured": sum(turn.unmeasured for turn in turns) if heard else 0,
        "decided_by": "heard" if heard else "reported",
        "budget_ms": milliseconds(budget.total),
        "allowances_ms": budget.to_json()["allowances_ms"],
        "within_budget": _within(turns, gapped, milliseconds(budget.total), heard=heard),
        "heard_gap_ms": Summary.of(turn.heard_gap_ms for turn in gapped).to_json(),
        "first_content_gap_ms": Summary.of(turn.first_content_gap_ms for turn in gapped).to_json(),
        "reported_gap_ms": Summary.of(turn.reported_gap_ms for turn in gapped).to_json(),
        "disagreement_ms": Summary.of(turn.disagreement_ms for turn in gapped).to_json("p50", "p95", "max"),
        "speech_end_error_ms": _error([turn.speech_end_error_ms for turn in gapped]),
        "stages_ms": {stage.value: _stage(stage, gapped) for stage in Stage if stage is not Stage.RESIDUAL},
        "blame": {stage.value: sum(turn.culprit == stage for turn in over) for stage in Stage},
        "unexplained": sum(turn.culprit is None for turn in over),
        "residual_ms": Summary.of(turn.residual_ms for turn in gapped).to_json("p50", "p95", "max"),
        "wer": word_error_rate(turns),
        "config": dict(config),
        "per_turn": [turn.to_json() for turn in turns],
    }


def word_error_rate(turns: Sequence[TurnRecord]) -> float | None:
    """Words wrong over words of reference, all turns together; None where no turn has both."""
    scored = [
        (turn.words_wrong, turn.words_reference)
        for turn in turns
        if turn.words_wrong is not None and turn.words_reference is not None
    ]
    reference = sum(words for _, words in scored)
    return sum(wrong for wrong, _ in scored) / reference if reference else None


def _within(
    turns: Sequence[TurnRecord], gapped: Sequence[TurnRecord], budget_ms: float, *, heard: bool
) -> float | None:
    gaps = [turn.heard_gap_ms if heard else turn.reported_gap_ms for turn in gapped]
    kept = sum(gap is not None and gap <= budget_ms for gap in gaps)
    return kept / len(turns) if turns else None


def _error(errors: Sequence[float | None]) -> dict[str, Any]:
    known = [error for error in errors if error is not None]
    spread = Summary.of(None if error is None else abs(error) for error in errors)
    return {"bias": sum(known) / len(known) if known else None, **spread.to_json("p50", "p95")}


def _stage(stage: Stage, gapped: Sequence[TurnRecord]) -> dict[str, Any]:
    charged = [turn.charges_ms.get(stage.value) for turn in gapped if not _beside(stage, turn)]
    return {**Summary.of(charged).to_json("p50", "p95"), "beside": len(gapped) - len(charged)}


def _beside(stage: Stage, turn: TurnRecord) -> bool:
    return stage.value in turn.charges_ms and turn.charges_ms[stage.value] is None
