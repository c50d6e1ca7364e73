"""What waits for the model's thread, the most urgent first. Pure; it is told what to do next, and does nothing.

Among the equally urgent, the one that has waited longest comes first; so long work, which is asked back after each of
its steps, takes turns with other work of its kind, and waits for as long as there is any that is more urgent.
"""

from typing import Generic, TypeVar

from turngap.llm.protocol import Urgency

Work = TypeVar("Work")


class Waiting(Generic[Work]):
    """A queue for each urgency. It cannot grow without end: each reply and each preparation waits in it once."""

    def __init__(self) -> None:
        self._queues: dict[Urgency, dict[Work, None]] = {urgency: {} for urgency in sorted(Urgency)}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def add(self, work: Work, urgency: Urgency) -> None:
        """Let ``work`` wait behind what is as urgent."""
        self._queues[urgency][work] = None

    def move(self, work: Work, urgency: Urgency) -> None:
        """Let ``work`` wait as if it had come now and with this urgency; nothing where it does not wait."""
        if any(work in queue for queue in self._queues.values()):
            for queue in self._queues.values():
                queue.pop(work, None)
            self.add(work, urgency)

    def take(self) -> Work | None:
        """What comes next, or None; it waits no more."""
        for queue in self._queues.values():
            for work in queue:
                del queue[work]
                return work
        return None
