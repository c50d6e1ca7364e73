"""What a listener heard: gaps and cut-ins, taken from the two tracks of a conversation and nothing else. Pure.

An agent's *stretch* is audible sound without a hole of 250 ms. A stretch belongs to the last end of the user's speech
before it:

::

    user   ──▓▓▓▓▓▓▓▓▓▓▓──────────────────▓▓▓▓▓▓─────
    agent  ────────────────▒▒▒▒▒▒▒▒▒▒▒▒─────────────▒▒▒▒
                        ├──┤ heard gap         ├──┤

A stretch that *begins* while the user still speaks is a **cut-in**. If it falls silent before the user's end, the gap
is still that to the next stretch; if it goes on past the end, the user was talked over, and the gap is negative: the
beginning of that stretch, before the end of the speech. Sound that was there before the user began is no cut-in:
there it was the user who broke in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turngap.voice.audio.level import AUDIBLE_BLOCK_MS, AUDIBLE_DB, block_levels, first_audible
from turngap.voice.client.truth import Utterance

HOLE_S: Final = 0.25
"""Longer than the pause of a synthesised comma, shorter than any pause between a hushed reply and the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardTurn:
    """One turn of the user as a listener heard it; seconds of the tracks' clock."""

    user: Utterance
    first_audible_s: float | None
    """Where the reply begins to be audible; None if nothing was heard before the user's next turn."""
    cut_in_s: float | None
    """Where the agent first broke in; None if it did not."""

    @property
    def gap_ms(self) -> float | None:
        """From the true end of the user's speech to the first audible sample; negative if the user was talked over."""
        return gap_ms(self.first_audible_s, self.user.end_s)

    @property
    def cut_in(self) -> bool:
        return self.cut_in_s is not None


def gap_ms(first_audible_s: float | None, speech_end_s: float | None) -> float | None:
    """The gap between two moments of the tracks, either of which may be unknown."""
    if first_audible_s is None or speech_end_s is None:
        return None
    return (first_audible_s - speech_end_s) * 1000.0


def stretches(agent: NDArray[np.float32], rate_hz: int) -> list[tuple[float, float]]:
    """Where the agent is heard, in seconds: each stretch begins with its first audible sample."""
    block = rate_hz * AUDIBLE_BLOCK_MS // 1000
    padded = np.concatenate([agent, np.zeros(-len(agent) % block, np.float32)])
    loud = np.flatnonzero(block_levels(padded, block) > AUDIBLE_DB)
    if not len(loud):
        return []
    holes = np.flatnonzero(np.diff(loud) * block > HOLE_S * rate_hz)
    firsts = loud[np.concatenate([[0], holes + 1])]
    lasts = loud[np.concatenate([holes, [len(loud) - 1]])]
    return [
        (_onset(agent, rate_hz, int(first) * block) / rate_hz, (int(last) + 1) * block / rate_hz)
        for first, last in zip(firsts, lasts, strict=True)
    ]


def listen(agent: NDArray[np.float32], rate_hz: int, users: Sequence[Utterance]) -> list[HeardTurn]:
    """What was heard in answer to each of the user's turns, which must be in order."""
    found = stretches(agent, rate_hz)
    nexts = [*(each.start_s for each in users[1:]), float("inf")]
    return [_turn(user, before_s, found) for user, before_s in zip(users, nexts, strict=True)]


def _turn(user: Utterance, before_s: float, found: Sequence[tuple[float, float]]) -> HeardTurn:
    cut_ins = [(start, end) for start, end in found if user.start_s < start < user.end_s]
    after = [start for start, _ in found if user.end_s <= start < before_s]
    talked_over = [start for start, end in cut_ins if end > user.end_s]
    first = next(iter(talked_over + after), None)
    return HeardTurn(user=user, first_audible_s=first, cut_in_s=cut_ins[0][0] if cut_ins else None)


def _onset(agent: NDArray[np.float32], rate_hz: int, start: int) -> int:
    found = first_audible(agent, rate_hz, start=start)
    return start if found is None else found
