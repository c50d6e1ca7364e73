"""A voice over our reply: whether it takes the floor. Pure.

It is decided by what was said, since a voice alone may be a cough: words other than those that people say along take
the floor. One such word alone is not to be believed of a short voice, unless it is one to claim the floor with: a
recogniser hears "hello" in many an "mm". Whose voice is still there after ``decide`` is given the floor if nothing was
understood yet, or one word. Where a recogniser found no words, but in the first syllable only, we stay silent a little
longer: to speak on and to stop once more would be worse than either.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from turngap.budget.clock import MS, Ns
from turngap.voice.endpointing.wording import Claim
from turngap.voice.events import Heard, SpeechPaused

FASTEST: Final[Ns] = 140 * MS
"""A word, of those who speak fastest: seven a second."""

NOTICED: Final[Ns] = 150 * MS
"""Until a voice is known to be gone, it seems to be there: 50 to 100 ms for the detector, and a loop that is busy. So
one that seems to be there for half a second has lasted for 350 ms, which hardly a "mhm" does."""

PATIENCE: Final = 3
"""So many times ``decide`` we are silent at most before a voice without words."""


class Verdict(Enum):
    UNDECIDED = auto()
    TAKEN = auto()
    """It takes the floor from us."""
    NOTHING = auto()
    """It was nothing, and is over."""
    NOT_YET = auto()
    """It goes on, and nobody has understood it in time: we speak on until somebody does."""


def any_words(text: str) -> Claim:
    """Takes whatever has words for a claim to the floor."""
    return Claim.SURE if text else Claim.NONE


def no_words(text: str) -> Claim:
    """Takes nothing for one."""
    return Claim.NONE


class Overlap:
    """One voice over one reply, from its onset on."""

    def __init__(self, onset: Ns, *, decide: Ns, claims: Callable[[str], Claim]) -> None:
        self.due: Ns | None = None
        """When it is to be decided without words; None if never."""
        self.pause: SpeechPaused | None = None
        """Since when the voice is gone, if it is."""
        self._onset = onset
        self._decide = decide
        self._claims = claims
        self._heard: str | None = None
        self._until = onset

    def hurry(self) -> None:
        """We are silent meanwhile: decide in time."""
        self.due = self._onset + self._decide

    def weigh(self, heard: Heard) -> Verdict:
        """What follows from the words of the voice so far."""
        lasted = (heard.at if self.pause is None else self.pause.speech_end) - self._onset
        # More words than anybody says in that time are a recogniser's dream of a noise.
        self._heard = heard.text if len(heard.text.split()) <= 1 + lasted // FASTEST else ""
        self._until = heard.until
        claim = self._claims(self._heard)
        if claim is Claim.SURE or (claim is Claim.DOUBTFUL and self._lasted(heard.at)):
            return Verdict.TAKEN
        return Verdict.UNDECIDED if self.pause is None else Verdict.NOTHING

    def unheard(self, now: Ns) -> Verdict:
        """It is due, and no words have decided."""
        gone = self.pause is not None
        if not gone and (self._heard is None or self._claims(self._heard) is Claim.DOUBTFUL):
            return Verdict.TAKEN
        little = self._until - self._onset < self._decide - NOTICED
        if not gone and little and now < self._onset + PATIENCE * self._decide:
            self.due = now + NOTICED
            return Verdict.UNDECIDED
        self.due = None
        return Verdict.NOT_YET

    def _lasted(self, now: Ns) -> bool:
        """Whether the voice has been there for longer than a "mhm" is."""
        return (now if self.pause is None else self.pause.speech_end + NOTICED) - self._onset >= self._decide
