"""A thread of the model's own, which does the most urgent step first.

Work comes as a *step* that is called until it has a result: as long as it answers :data:`AGAIN` it goes back to the
queue, so that something more urgent gets in between. Nothing is interrupted inside of a step.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from turngap.llm.backends.waiting import Waiting
from turngap.llm.protocol import Urgency

Ran = TypeVar("Ran")


class _Again(Enum):
    AGAIN = "again"


Again: TypeAlias = Literal[_Again.AGAIN]
AGAIN: Final = _Again.AGAIN
"""The answer of a step that has more to do."""


class Job(Generic[Ran]):
    """Work that was submitted. Cancel its future to have no further step of it begun."""

    def __init__(self, step: Callable[[], Ran | Again], urgency: Urgency) -> None:
        self.future: Future[Ran] = Future()
        self.urgency = urgency
        self._step = step

    def advance(self) -> bool:
        """Do a step, unless nobody wants it any more; whether there is more to do."""
        if self.future.cancelled():
            return False
        try:
            result = self._step()
        except BaseException as error:  # it belongs to whoever waits for the result
            if self.future.set_running_or_notify_cancel():
                self.future.set_exception(error)
            return False
        if result is AGAIN:
            return True
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(result)
        return False


class Worker:
    """One thread, begun with the first job; ``prepare`` runs in it before anything else."""

    def __init__(self, name: str, *, prepare: Callable[[], None]) -> None:
        self._waiting: Waiting[Job[Any]] = Waiting()
        self._change = threading.Condition()
        self._closed = False
        # A program that ends without closing its backend must not hang.
        self._thread = threading.Thread(target=self._run, args=(prepare,), name=name, daemon=True)

    def submit(self, step: Callable[[], Ran | Again], urgency: Urgency) -> Job[Ran]:
        """Have ``step`` called until it has a result. A RuntimeError after :meth:`close`."""
        job = Job(step, urgency)
        with self._change:
            if self._closed:
                raise RuntimeError("the thread was closed")
            if not self._thread.ident:
                self._thread.start()
            self._waiting.add(job, urgency)
            self._change.notify()
        return job

    def hasten(self, job: Job[Any], urgency: Urgency) -> None:
        """Make ``job`` as urgent as this, from its next step on."""
        with self._change:
            job.urgency = urgency
            self._waiting.move(job, urgency)

    def close(self) -> None:
        """Cancel what waits, let the step that runs end, and the thread with it."""
        with self._change:
            self._closed = True
            while (job := self._waiting.take()) is not None:
                job.future.cancel()
            self._change.notify()
        if self._thread.ident:
            self._thread.join()

    def _run(self, prepare: Callable[[], None]) -> None:
        prepare()
        while (job := self._next()) is not None:
            if job.advance():
                self._put_back(job)

    def _next(self) -> Job[Any] | None:
        with self._change:
            while (job := self._waiting.take()) is None and not self._closed:
                self._change.wait()
            return job

    def _put_back(self, job: Job[Any]) -> None:
        with self._change:
            if self._closed:
                job.future.cancel()
            else:
                self._waiting.add(job, job.urgency)
