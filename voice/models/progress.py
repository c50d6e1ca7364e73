"""What a pull tells the person who waits for it."""

from typing import Protocol


class Progress(Protocol):
    """Lines of text and at most one bar at a time."""

    def say(self, line: str) -> None: ...

    def begin(self, label: str, total: int) -> None:
        """Start a bar of ``total`` bytes."""
        ...

    def reach(self, done: int) -> None:
        """So many bytes of the bar are there; it may be told more often than it draws."""
        ...

    def end(self) -> None:
        """The bar's work is over, well or not."""
        ...


class Silent:
    """Tells nothing: for programs and tests."""

    def say(self, line: str) -> None: ...

    def begin(self, label: str, total: int) -> None: ...

    def reach(self, done: int) -> None: ...

    def end(self) -> None: ...
