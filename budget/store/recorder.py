"""One run being written: what a server or a bench has to do with the store."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turngap.budget.clock import calendar
from turngap.budget.report.record import TurnRecord
from turngap.budget.store.changes import Audio, RunBegan, RunDescribed, RunEnded, TurnBegan, TurnEnded
from turngap.budget.store.place import new_run
from turngap.budget.store.rows import without_words
from turngap.budget.store.writer import Writer


def no_audio() -> None:
    """Of a turn of which nothing was recorded."""


class Recorder:
    """A run in the store. Everything but the constructor and :meth:`close` returns at once and raises nothing.

    ``words`` says whether what was said is kept; figures always are.
    """

    def __init__(
        self, path: Path, *, kind: str, config: Mapping[str, Any], budget: Mapping[str, Any], words: bool = False
    ) -> None:
        self.run = new_run()
        self._words = words
        began = RunBegan(run=self.run, kind=kind, at=_now(), config=config, budget=budget)
        self._writer = Writer(path, began)

    @property
    def lost(self) -> int:
        """Changes that could not be kept."""
        return self._writer.lost

    def described(self, config: Mapping[str, Any], budget: Mapping[str, Any]) -> None:
        self._writer.write(RunDescribed(run=self.run, config=config, budget=budget))

    def turn_began(self, conversation: int, turn: int) -> None:
        self._writer.write(TurnBegan(run=self.run, conversation=conversation, turn=turn, at=_now()))

    def turn_ended(
        self,
        conversation: int,
        turn: int,
        record: Callable[[], TurnRecord],
        *,
        audio: Callable[[], Audio | None] = no_audio,
        done: Callable[[bool], None] | None = None,
    ) -> None:
        """Keep the record of a turn, which is only asked for on the writer's thread; it must not change any more.
        ``done`` is called from there once it is committed, or lost."""
        kept = record if self._words else lambda: without_words(record())
        ended = TurnEnded(run=self.run, conversation=conversation, turn=turn, at=_now(), record=kept, audio=audio)
        self._writer.write(ended, done)

    def close(self) -> None:
        """Wait until all is written, and end the run."""
        self._writer.close(RunEnded(run=self.run, at=_now()))


def _now() -> str:
    return calendar().isoformat(timespec="milliseconds")
