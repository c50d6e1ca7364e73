"""The turn is over when it is more likely over than the reply is worth waiting for. Pure.

Theory of operation. At a pause there are two stories: the turn has ended, or its speaker goes on. Evidence says how
much better the one explains it than the other, as *odds*: the turn-end model's opinion of how the last seconds sound,
how the words stand (:mod:`turngap.voice.endpointing.wording`), and the silence itself, which gets longer than a pause
of this speaker would be (:mod:`turngap.voice.endpointing.patience`)::

    odds(t) = odds of the evidence / chance that a pause inside a turn lasts longer than t
    P(t) = odds / (1 + odds)

P only grows while nothing but silence is heard, so the endpoint, the moment at which P reaches ``certainty``, is known
in advance, and a new piece of evidence moves it, to sooner or to later; an endpoint that has passed is taken back if
nothing was heard of the reply yet. Nobody waits longer than ``longest_ms``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from types import MappingProxyType
from typing import Final

from turngap.voice.endpointing.patience import Patience, Pauses
from turngap.voice.endpointing.protocol import (
    VAD_RATE_HZ,
    AgentSaid,
    AgentSpeaks,
    Ask,
    Evidence,
    Fading,
    Floor,
    Frame,
    Onset,
    Pause,
    Reconsidered,
    TurnEnd,
    Words,
)
from turngap.voice.endpointing.voicing import Gone, Voicing
from turngap.voice.endpointing.wording import Lexicon, Standing, standing

CERTAINTY: Final = 0.7
LONGEST_MS: Final = 2000.0
AGAIN_MS: Final = 300.0
"""A turn-end model that is asked sooner gives the same answer."""

WORDS: Final[Mapping[Standing, float]] = MappingProxyType(
    {
        Standing.NOTHING: 0.0,
        Standing.CUT: -2.0,
        Standing.FILLER: -2.0,
        Standing.TRAILING: -2.0,
        Standing.NUMBER: -1.0,
        Standing.PHRASE: -0.5,
        Standing.SENTENCE: 0.0,
        Standing.QUESTION: 0.5,
        Standing.CLOSING: 0.5,
        Standing.ANSWER: 1.0,
    }
)
"""Less than each is worth by itself, since words and sound agree more often than not. Of 89 queries and orders none
that was over trailed off, and the ones with an open end were all to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each piece of evidence counts, in log odds (natural logarithm); positive speaks for the end of the turn."""

    alone: float = -0.4
    """Of a pause of which nothing else is known."""
    turn_end: float = 0.65
    """For each unit of the turn-end model's own log odds,"""
    doubt: float = -2.0
    """of which none counts as less: how sure it is that the turn goes on says little. One turn in ten ends on a tone
    that it takes for the middle of a sentence, and would wait for 100 ms more, with no fewer cut off."""
    words: Mapping[Standing, float] = field(default_factory=lambda: WORDS)


class Weighing:
    """Weighs what it is told of; without a turn-end model (``asks``) and a ``lexicon`` only silence is left."""

    def __init__(
        self,
        *,
        voicing: Voicing | None = None,
        asks: bool = True,
        lexicon: Lexicon | None = None,
        weights: Weights | None = None,
        pauses: Pauses | None = None,
        certainty: float = CERTAINTY,
        longest_ms: float = LONGEST_MS,
        again_ms: float = AGAIN_MS,
    ) -> None:
        self._voicing = Voicing() if voicing is None else voicing
        self._asks = asks
        self._lexicon = lexicon
        self._weights = Weights() if weights is None else weights
        self._patience = Patience(pauses)
        self._needed = math.log(certainty / (1 - certainty))
        self._longest_ms = longest_ms
        self._again = _samples(again_ms)
        self._asked = ""
        self._gone: Gone | None = None
        self._ask_at = self._last_ask = 0
        self._opinions: list[float] = []
        self._early: TurnEnd | None = None
        """An opinion that came before the pause was noticed."""
        self._standing: Standing | None = None

    def feed(self, frame: Frame) -> list[Floor]:
        """What this frame settles."""
        found = self._voicing.feed(frame)
        if isinstance(found, Gone):
            return self._paused(found)
        if isinstance(found, Onset):
            return self._resumed(found)
        if self._gone is not None and not self._voicing.paused:
            self._gone = None  # nobody went on
        fading: list[Floor] = [Fading(end=frame.end)] if self._voicing.began_to_fade else []
        return [*fading, *self._ask()]

    def told(self, evidence: Evidence) -> list[Floor]:
        """What follows from ``evidence``."""
        match evidence:
            case AgentSpeaks(speaks=speaks):
                self._voicing.contested = speaks
            case AgentSaid(text=text):
                self._asked = text
            case TurnEnd():
                self._early = evidence
                return self._reconsidered() if self._agrees(evidence) else []
            case Words(end=end, text=text) if self._gone and end >= self._gone.speech_end and self._lexicon is not None:
                self._standing = standing(text, self._lexicon, asked=self._asked)
                return self._reconsidered()
        return []

    def end(self) -> list[Floor]:
        """No audio comes any more, for now at least: a voice that was there has paused, and its turn is over."""
        gone = self._voicing.end()
        if gone is None:
            return []
        return [Pause(speech_end=gone.speech_end, endpoint=gone.noticed, reason="end of audio")]

    def probability(self, at: int) -> float | None:
        """The chance that the turn is over if nothing is heard until sample ``at``; None while there is no pause."""
        if self._gone is None:
            return None
        longer = self._patience.longer(_ms(at - self._gone.speech_end))
        return 1.0 / (1.0 + longer * math.exp(-self._log_odds()))

    def _paused(self, gone: Gone) -> list[Floor]:
        self._gone = gone
        self._opinions = []
        self._standing = None
        if self._early is not None:
            self._agrees(self._early)
        if self._last_ask < gone.speech_end:
            self._ask_at = gone.noticed  # what was asked was about something else
        endpoint, reason = self._endpoint(gone)
        pause = Pause(
            speech_end=gone.speech_end, endpoint=endpoint, reason=reason, probability=self.probability(gone.noticed)
        )
        return [pause, *self._ask()]

    def _resumed(self, onset: Onset) -> list[Floor]:
        if self._gone is not None:
            if not self._voicing.contested:  # who speaks over the agent has not paused, but listened
                self._patience.paused(_ms(onset.start - self._gone.speech_end))
            self._gone = None
        return [onset]

    def _agrees(self, opinion: TurnEnd) -> bool:
        """Take an opinion, if it is about the present pause."""
        if self._gone is None or opinion.end < self._gone.speech_end:
            return False
        self._opinions.append(max(_logit(opinion.probability), self._weights.doubt))
        return True

    def _ask(self) -> list[Floor]:
        """Ask as soon as a pause is plausible, which is before it is sure, and again while it is not decided."""
        heard = self._voicing.heard
        if not self._asks or heard < self._ask_at:
            return []
        undecided = self._gone is not None and self._endpoint(self._gone)[0] >= heard
        if not (undecided or self._voicing.fading):
            return []
        self._ask_at, self._last_ask = heard + self._again, heard
        return [Ask(end=heard)]

    def _reconsidered(self) -> list[Floor]:
        assert self._gone is not None
        endpoint, reason = self._endpoint(self._gone)
        probability = self.probability(self._voicing.heard)
        assert probability is not None
        return [Reconsidered(endpoint=endpoint, reason=reason, probability=probability)]

    def _endpoint(self, gone: Gone) -> tuple[int, str]:
        """When the turn is over if nothing more is heard, and what the wait is for."""
        chance = math.exp(min(0.0, self._log_odds() - self._needed))
        wait_ms = min(self._patience.until(chance), self._longest_ms)
        endpoint = max(gone.noticed, gone.speech_end + _samples(wait_ms))
        self._voicing.hold_open(endpoint)
        return endpoint, self._reason()

    def _reason(self) -> str:
        if self._standing is not None:
            return self._standing.value
        if self._opinions:
            return "turn end"
        return "silence"

    def _log_odds(self) -> float:
        weights = self._weights
        found = weights.alone
        if self._opinions:
            # Silence by itself raises the model's opinion, and it is counted already: the later ones are no better than
            # the first, and all of them together a little better than each.
            found += weights.turn_end * fmean(self._opinions)
        if self._standing is not None:
            found += weights.words.get(self._standing, 0.0)
        return found


def _logit(probability: float) -> float:
    p = min(max(probability, 0.001), 0.999)
    return math.log(p / (1 - p))


def _samples(ms: float) -> int:
    return round(ms * VAD_RATE_HZ / 1000)


def _ms(samples: int) -> float:
    return samples * 1000 / VAD_RATE_HZ
