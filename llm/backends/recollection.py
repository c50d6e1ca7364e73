"""What a model will probably say next, from what it has said before. Pure; token ids only.

On a small model a forward pass over eight tokens takes hardly longer than over one, since reading the weights is the
price. So tokens that are likely to come are put behind the last one and checked in the same pass: as far as the
model chooses the same, they are said. What is said is the model's own choice all the same; in int8, whose rounding
depends on what is multiplied together, a close call may fall otherwise than token by token.

Likely tokens come from the model's earlier replies, which begin alike more often than not, and from the words of the
user, which are often said back.
"""

from collections.abc import Iterator, Sequence
from typing import Final

BEGINNING: Final = -1
"""Stands for the beginning of a reply; no token has this id."""

LONGEST: Final = 4
SHORTEST: Final = 2
MOST: Final = 50_000
"""Contexts that are remembered: some thousand replies, and a few megabytes."""


class Recollection:
    """Which token followed which few others, and how often."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._followed: dict[tuple[int, ...], dict[int, int]] = {}

    def __len__(self) -> int:
        """Contexts that are remembered."""
        return len(self._followed)

    def learn(self, said: Sequence[int]) -> None:
        """Note the last of ``said`` as what followed the others; call it with every token that is said."""
        for context in _contexts(said[:-1]):
            counts = self._followed.setdefault(context, {})
            counts[said[-1]] = counts.get(said[-1], 0) + 1
        if len(self._followed) > self._most:  # the older half goes
            for context in list(self._followed)[: len(self._followed) - self._most // 2]:
                del self._followed[context]

    def expect(self, said: Sequence[int], *, most: int) -> list[int]:
        """Up to ``most`` tokens that would follow ``said``; the longest context that is known decides on each."""
        expected: list[int] = []
        while len(expected) < most:
            token = self._next([*said, *expected])
            if token is None:
                break
            expected.append(token)
        return expected

    def _next(self, said: Sequence[int]) -> int | None:
        for context in _contexts(said):
            if counts := self._followed.get(context):
                return max(counts, key=counts.__getitem__)
        return None


def _contexts(said: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The last few tokens, the longest stretch first; a reply's beginning counts as one."""
    whole = (BEGINNING, *said[-LONGEST:]) if len(said) < LONGEST else tuple(said[-LONGEST:])
    yield from (whole[start:] for start in range(len(whole) - SHORTEST + 1))
    if not said:
        yield whole
