"""The model's thread, with steps that wait for events: nothing here sleeps."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import pytest

from turngap.llm.backends.worker import AGAIN, Again, Job, Worker
from turngap.llm.protocol import Urgency

LIVE, DRAFT, IDLE = Urgency.LIVE, Urgency.DRAFT, Urgency.IDLE
PATIENCE_S = 20
"""Nothing waits for so long, unless it hangs."""


class Gate:
    """A step that is running when ``entered`` is set, and until ``opened`` is."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.opened.wait(PATIENCE_S)
        return "open"


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("test", prepare=lambda: None)
    yield made
    made.close()


@pytest.fixture
def gate(worker: Worker) -> Iterator[Gate]:
    """Keeps the thread busy, so that what is submitted waits."""
    made = Gate()
    worker.submit(made, LIVE)
    assert made.entered.wait(PATIENCE_S)
    yield made
    made.opened.set()


def steps(log: list[str], name: str, count: int) -> Callable[[], str | Again]:
    left = [count]

    def step() -> str | Again:
        log.append(name)
        left[0] -= 1
        return AGAIN if left[0] else name

    return step


def gated(gate: Gate, rest: Callable[[], str | Again]) -> Callable[[], str | Again]:
    """A first step that waits for the gate, and then ``rest``."""

    def step() -> str | Again:
        if gate.entered.is_set():
            return rest()
        gate()
        return AGAIN

    return step


def finish(*jobs: Job[str]) -> list[str]:
    return [job.future.result(PATIENCE_S) for job in jobs]


def test_live_work_gets_in_between_the_steps_of_a_draft_and_idle_work_comes_last(worker: Worker, gate: Gate) -> None:
    log: list[str] = []
    idle = worker.submit(steps(log, "idle", 2), IDLE)
    draft = worker.submit(steps(log, "draft", 2), DRAFT)
    live = worker.submit(steps(log, "live", 2), LIVE)
    gate.opened.set()
    assert finish(idle, draft, live) == ["idle", "draft", "live"]
    assert log == ["live", "live", "draft", "draft", "idle", "idle"]


def test_live_work_waits_for_no_more_than_the_step_that_runs(worker: Worker) -> None:
    log: list[str] = []
    gate = Gate()
    draft = worker.submit(gated(gate, steps(log, "draft", 3)), DRAFT)
    assert gate.entered.wait(PATIENCE_S)
    live = worker.submit(steps(log, "live", 1), LIVE)
    gate.opened.set()
    finish(draft, live)
    assert log == ["live", "draft", "draft", "draft"]


def test_a_draft_that_is_hastened_goes_before_the_others(worker: Worker, gate: Gate) -> None:
    log: list[str] = []
    one, two = (worker.submit(steps(log, name, 2), DRAFT) for name in ("one", "two"))
    worker.hasten(two, LIVE)
    gate.opened.set()
    finish(one, two)
    assert log == ["two", "two", "one", "one"]


def test_a_draft_can_be_hastened_while_a_step_of_it_runs(worker: Worker) -> None:
    log: list[str] = []
    gate = Gate()
    one = worker.submit(gated(gate, steps(log, "one", 2)), DRAFT)
    assert gate.entered.wait(PATIENCE_S)
    two = worker.submit(steps(log, "two", 2), DRAFT)
    worker.hasten(one, LIVE)
    gate.opened.set()
    finish(one, two)
    assert log == ["one", "one", "two", "two"]


def test_cancelled_work_makes_no_further_step(worker: Worker, gate: Gate) -> None:
    log: list[str] = []
    unwanted = worker.submit(steps(log, "unwanted", 1), LIVE)
    assert unwanted.future.cancel()
    last = worker.submit(steps(log, "last", 1), IDLE)
    gate.opened.set()
    finish(last)
    assert log == ["last"]


def test_work_that_is_cancelled_while_it_runs_is_forgotten(worker: Worker) -> None:
    for outcome in ("open", "failure"):
        gate = Gate()

        def step(gate: Gate = gate, outcome: str = outcome) -> str:
            if gate() != outcome:
                raise ValueError(outcome)
            return outcome

        job = worker.submit(step, LIVE)
        assert gate.entered.wait(PATIENCE_S)
        assert job.future.cancel()
        gate.opened.set()
    assert finish(worker.submit(lambda: "alive", IDLE)) == ["alive"]


def test_an_error_belongs_to_whoever_waits(worker: Worker) -> None:
    def fail() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        worker.submit(fail, LIVE).future.result(PATIENCE_S)
    assert finish(worker.submit(lambda: "alive", LIVE)) == ["alive"]


def test_closing_drops_what_waits_and_lets_the_step_that_runs_end() -> None:
    worker, gate = Worker("test", prepare=lambda: None), Gate()
    running = worker.submit(gated(gate, lambda: "never"), LIVE)
    assert gate.entered.wait(PATIENCE_S)
    waiting = worker.submit(lambda: "never", LIVE)
    closing = threading.Thread(target=worker.close)
    closing.start()
    with pytest.raises(CancelledError):
        waiting.future.result(PATIENCE_S)
    gate.opened.set()
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert running.future.cancelled()
    with pytest.raises(RuntimeError):
        worker.submit(lambda: "late", LIVE)


def test_a_worker_that_was_never_used_closes_at_once() -> None:
    Worker("test", prepare=lambda: pytest.fail("nothing to prepare for")).close()


def test_it_is_awaited_from_a_loop(worker: Worker) -> None:
    async def wait() -> str:
        return await asyncio.wrap_future(worker.submit(lambda: "there", DRAFT).future)

    assert asyncio.run(wait()) == "there"
