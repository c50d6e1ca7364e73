"""A budget for examples, so that they stay as they are when the default is measured anew."""

from turngap.budget.allowance import Budget
from turngap.budget.clock import MS
from turngap.budget.marks import Stage

EXAMPLE = Budget(
    total=500 * MS,
    allowances={
        Stage.ENDPOINTING: 210 * MS,
        Stage.ASR: 80 * MS,
        Stage.DISPATCH: 10 * MS,
        Stage.PREFILL: 50 * MS,
        Stage.DECODE: 70 * MS,
        Stage.TTS: 60 * MS,
        Stage.PLAYOUT: 10 * MS,
        Stage.RESIDUAL: 10 * MS,
    },
)
