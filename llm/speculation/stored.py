"""A reply that is known before it is asked for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Origin: TypeAlias = Literal["file", "log", "predicted"]
"""Who knew it: the developer's file, an earlier dialogue, or a guess at this one. Where two differ, the first wins."""


ABOUT: Final = "* "
"""As in "* order correct"."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """A stretch of a reply as it is spoken."""

    text: str
    samples: NDArray[np.int16]
    rate_hz: int
    words: tuple[tuple[int, int], ...] = ()
    """Where each of its words ends: after so many characters of the text, and so many samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """What is said when the user says one of ``utterances``."""

    utterances: tuple[str, ...]
    says: tuple[str, ...]
    """The reply, or several that take turns."""
    state: str = ""
    """Where in a dialogue it fits: a label, or the agent's words just before; empty if it fits anywhere. After
    :data:`ABOUT` stand words that have to be in the agent's last sentence, whatever else is."""
    intent: str = ""
    """The name that a file gives to these utterances."""
    source: Origin = "file"
    spoken: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict, compare=False)
    """The pieces of those of ``says`` that have been synthesised."""

    @property
    def size(self) -> int:
        """Bytes, nearly."""
        text = sum(len(each) for each in (*self.utterances, *self.says, self.state, self.intent))
        return text + sum(piece.samples.nbytes for pieces in self.spoken.values() for piece in pieces)
