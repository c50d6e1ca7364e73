"""The thread that writes. Whoever tells it something goes on at once; nothing of a disk is ever waited for.

A queue lies between: putting a change into it takes a microsecond. The thread takes all that has gathered, writes it
in one transaction, and says so to whoever asked to be told. Where the file can't be written the changes are lost, the
loss is counted and reported once, and the conversation goes on.
"""

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from turngap.budget.lock import locked_if_free
from turngap.budget.store.changes import Change, RunBegan, RunEnded
from turngap.budget.store.database import lifeline, open_store, transaction
from turngap.budget.store.rows import apply

logger = logging.getLogger(__name__)

LONGEST: Final = 10_000
"""Changes that may wait: hours of talk. Beyond that the disk is not coming back."""

MOST_AT_ONCE: Final = 200


class Told(NamedTuple):
    change: Change
    done: Callable[[bool], None] | None


class Writer:
    """Writes one run. Raises ConfigurationError where the store can't be opened. :meth:`close` when the run is over."""

    def __init__(self, path: Path, began: RunBegan) -> None:
        self.path = path
        self.run = began.run
        self.lost = 0
        """Changes that could not be kept."""
        self._queue: queue.Queue[Told | None] = queue.Queue(LONGEST)
        self._held = ExitStack()
        self._database = open_store(path)
        try:
            if not self._held.enter_context(locked_if_free(lifeline(path, self.run))):
                raise AssertionError(f"the run {self.run} has a writer already")
            with transaction(self._database):
                apply(self._database, began)
        except BaseException:
            self._database.close()
            self._held.close()
            raise
        self._thread = threading.Thread(target=self._work, name="turngap-store", daemon=True)
        self._thread.start()

    def write(self, change: Change, done: Callable[[bool], None] | None = None) -> None:
        """Keep ``change``, later. ``done`` is called from the writer's thread, once, with whether it was kept."""
        try:
            self._queue.put_nowait(Told(change, done))
        except queue.Full:
            self._lose(1, "the disk does not keep up")
            if done is not None:
                done(False)

    def close(self, ended: RunEnded) -> None:
        """Write what still waits, and the end of the run; returns when that is done."""
        self._queue.put(Told(ended, None))
        self._queue.put(None)
        self._thread.join()
        self._database.close()
        self._held.close()
        lifeline(self.path, self.run).unlink(missing_ok=True)

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, more = [first], True
            while more and len(batch) < MOST_AT_ONCE and not self._queue.empty():
                told = self._queue.get()
                if told is None:
                    more = False
                else:
                    batch.append(told)
            self._keep(batch)
            if not more:
                return

    def _keep(self, batch: list[Told]) -> None:
        """All in one transaction; where that fails, one by one, so that one bad change costs only itself."""
        well = self._try(batch)
        kept = [well or (len(batch) > 1 and self._try([told])) for told in batch]
        if lost := kept.count(False):
            self._lose(lost, "they could not be written")
        for told, well in zip(batch, kept, strict=True):
            if told.done is not None:
                told.done(well)

    def _try(self, batch: list[Told]) -> bool:
        try:
            with transaction(self._database):
                for told in batch:
                    apply(self._database, told.change)
        except Exception as error:  # a disk in trouble, or a record with a bug: it costs that change, not the thread
            logger.debug("%d changes of run %s not written: %s", len(batch), self.run, error)
            return False
        return True

    def _lose(self, count: int, reason: str) -> None:
        if not self.lost:
            logger.warning("changes of run %s are lost: %s", self.run, reason)
        self.lost += count
