"""What came of a recording that was played to an agent, and what may be expected of it. Pure."""

from dataclasses import dataclass

from turngap.budget.marks import Stage
from turngap.budget.report.record import TurnRecord
from turngap.budget.verdict import short


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The turns of one recording, in order. An expectation that is not met raises AssertionError, and says why."""

    turns: tuple[TurnRecord, ...]

    def expect_answer(self, *, within_ms: float) -> "Played":
        """Every turn was answered, not cut in on, and heard within so many ms of the true end of the user's speech."""
        __tracebackhide__ = True
        failures = [failure for turn in self.turns if (failure := _failure(turn, within_ms)) is not None]
        if failures or not self.turns:
            raise AssertionError("\n".join(failures) or "no turn was heard in the recording")
        return self

    def expect_said(self, *words: str) -> "Played":
        """The replies, as far as the agent tells what it said, hold each of these, whatever the case."""
        __tracebackhide__ = True
        said = " ".join(turn.reply or "" for turn in self.turns)
        missing = [word for word in words if word.casefold() not in said.casefold()]
        if missing:
            raise AssertionError(f"the reply has no {', '.join(map(repr, missing))}: {said!r}")
        return self


def _failure(turn: TurnRecord, within_ms: float) -> str | None:
    if turn.cut_in:
        return f"{turn.name}: the agent was heard before the user had finished"
    if not turn.answered:
        return f"{turn.name}: no answer was heard ({turn.outcome or 'nothing was reported either'})"
    gap = turn.decisive_gap_ms
    if gap is None:
        return f"{turn.name}: answered, but its gap could not be heard"
    if gap <= within_ms:
        return None
    lines = [f"{turn.name}: heard {short(gap)} ms after the user had finished, {short(gap - within_ms)} ms over"]
    return "\n".join([f"{lines[0]} the {within_ms:g} ms allowed", *_where(turn)])


def _where(turn: TurnRecord) -> list[str]:
    """Which stage took it, where the agent tells."""
    if turn.reported_gap_ms is None:
        return ["  the agent reports no marks, so which stage took it is not known"]
    took = {stage: ms for stage, ms in turn.charges_ms.items() if ms}
    took[Stage.RESIDUAL.value] = turn.residual_ms or 0.0
    if turn.culprit is None:  # the agent kept its own budget, which is not the test's
        most = max(took, key=lambda stage: took[stage] - turn.allowances_ms.get(stage, 0.0))
        blame = f"  culprit: {most}, with {short(took[most])} of {turn.allowances_ms.get(most, 0.0):.0f} ms"
    else:
        blame = f"  culprit: {turn.sentence()}"
    return [blame, "  " + ", ".join(f"{stage} {short(ms)}" for stage, ms in took.items()) + " ms"]
