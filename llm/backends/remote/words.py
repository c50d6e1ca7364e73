"""What of a reply's text may be heard: up to a stop, and without the opener said again. Pure."""

from collections.abc import Sequence

from turngap.llm.openings import WithoutRepeat


class Words:
    """Feed it the text as it comes. ``opener`` is what the model was told to go on from; empty where it was not."""

    def __init__(self, stops: Sequence[str] = (), *, opener: str = "") -> None:
        self._stops = [stop for stop in stops if stop]
        self._repeat = WithoutRepeat(opener) if opener else None
        self._held = ""
        self.over = False
        """Whether a stop was reached: no more is wanted."""

    def feed(self, text: str) -> str:
        """What may be heard, now that ``text`` came."""
        if self.over:
            return ""
        self._held += text
        at = min((found for stop in self._stops if (found := self._held.find(stop)) >= 0), default=None)
        if at is not None:
            self.over = True
            free, self._held = self._held[:at], ""
            return self._heard(free) + self._rest()
        kept = self._unfinished()
        free, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return self._heard(free)

    def end(self) -> str:
        """What was held back, now that nothing more comes."""
        free, self._held = self._held, ""
        return self._heard(free) + self._rest()

    def _unfinished(self) -> int:
        """How much at the end may be the beginning of a stop."""
        sizes = (
            size for stop in self._stops for size in range(len(stop) - 1, 0, -1) if self._held.endswith(stop[:size])
        )
        return max(sizes, default=0)

    def _heard(self, text: str) -> str:
        return self._repeat.feed(text) if self._repeat is not None and text else text

    def _rest(self) -> str:
        return self._repeat.end() if self._repeat is not None else ""
