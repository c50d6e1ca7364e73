"""What became of the agent's replies while somebody spoke over them, from the tracks and the server's reports. Pure.

All that the agent plays between two of the server's reports of a turn belongs to the later one's reply. The client's
player drops and plays as a loudspeaker would, so its pieces tell to the sample what was heard, and where playing stood
still::

    user    ───────────▓▓▓──────────
    agent   ▒▒▒▒▒▒▒▒▒▒▒▒───────▒▒▒▒▒▒▒▒
                       ├┤ quiet after
                        ├──────┤ break
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngap.voice.client.heard import HOLE_S, stretches

Piece = tuple[int, NDArray[np.float32]]
"""From which sample of the track on it was played, and what."""


@dataclass(frozen=True, slots=True)
class HeardReply:
    """One reply: the server's report of its turn, when that came (seconds of the tracks), and what was heard of it."""

    report: Mapping[str, Any]
    reported_s: float
    pieces: tuple[Piece, ...]

    @property
    def audio(self) -> NDArray[np.float32]:
        """All that was heard of it, without the breaks."""
        return np.concatenate([np.zeros(0, np.float32), *(samples for _, samples in self.pieces)])

    @property
    def start(self) -> int:
        return self.pieces[0][0]

    def breaks(self) -> list[tuple[int, int]]:
        """Where its playing stood still, from and to, in samples of the track."""
        ends = [start + len(samples) for start, samples in self.pieces[:-1]]
        starts = [start for start, _ in self.pieces[1:]]
        return [(end, start) for end, start in zip(ends, starts, strict=True) if start > end]


def replies(turns: Sequence[tuple[float, int, Mapping[str, Any]]], pieces: Sequence[Piece]) -> list[HeardReply]:
    """The replies of a conversation of which something was heard, in order; ``turns`` are the server's reports, each
    with the moment at which it came, and how many of the pieces had come by then."""
    found, before = [], 0
    for reported_s, until, report in turns:
        own = tuple(piece for piece in pieces[before:until] if len(piece[1]))
        if own:
            found.append(HeardReply(report, reported_s, own))
        before = until
    return found


def quiet_from_s(agent: NDArray[np.float32], rate_hz: int, onset_s: float) -> float:
    """Since when an agent is silent that was spoken over from ``onset_s`` on: the end of its last audible sample before
    it was silent for 250 ms, or the onset where it made a pause by itself."""
    for start_s, end_s in stretches(agent, rate_hz):
        if end_s > onset_s:
            return end_s if start_s <= onset_s + HOLE_S else onset_s
    return onset_s


def heard_between(agent: NDArray[np.float32], rate_hz: int, start_s: float, end_s: float) -> float:
    """For how many seconds between the two moments the agent was heard, pauses between its words included."""
    inside = [(max(start, start_s), min(end, end_s)) for start, end in stretches(agent, rate_hz)]
    return sum(max(0.0, end - start) for start, end in inside)
