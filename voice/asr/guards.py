"""Guards against words that nobody said: loops, babble over silence, more words than the audio can hold. Pure."""

from collections.abc import Sequence
from typing import Final

from turngap.voice.asr.stable import plain

TOKENS_PER_SECOND: Final = 6
"""Fast English is four to five words a second, at 1.3 tokens a word; a loop fills whatever it is given."""
SPARE_TOKENS: Final = 8
NOBODY: Final = 0.62
UNSURE: Final = -0.7
"""Where the decoder thinks that nobody speaks, "Thank you." and "Bye!" over a hum have a mean log probability down to
here. Below 0.62 lie digits said by real people, at -1.4."""
DOUBT: Final = 2.75
"""For twice the chance of no speech less the mean log probability. "I", "Oh" and "The", heard in dishes, music and
tones, have 2.79 and more, short answers up to 2.71. Whisper's own rule (0.6 and -1.0, both) believed a tenth of what it
heard in mixtures that fool the voice detector, and lost a "two"."""


def token_cap(seconds: float) -> int:
    """How many tokens so much audio can hold."""
    return round(seconds * TOKENS_PER_SECOND) + SPARE_TOKENS


def is_silence(*, no_speech: float, logprob: float) -> bool:
    """Whether the words of a pass are better taken for nothing. ``logprob`` is the mean over the tokens."""
    return 2 * no_speech - logprob > DOUBT or (no_speech > NOBODY and logprob < UNSURE)


def is_mere_signs(words: Sequence[str]) -> bool:
    """Whether no word has a letter or a figure: what is heard in music, now and then, is a full stop."""
    return not any(plain(word) for word in words)


def without_loop(words: Sequence[str], *, cut_off: bool = False) -> tuple[str, ...]:
    """The words up to the first round of a loop at their end, all of them where there is none.

    People do say "no, no, no" and "zero zero zero": a loop is six times the same word, four times the same two or
    three, or three times the same longer phrase; its last round may be cut short. In words that were ``cut_off`` at
    the cap, which speech does not reach, five words or more that begin a second round are enough.
    """
    said = [plain(word) for word in words]
    for period in range(1, len(said)):
        run = 0
        while run + period < len(said) and said[-1 - run] == said[-1 - run - period]:
            run += 1
        rounds = 6 if period == 1 else 4 if period <= 3 else 3
        if run + period >= rounds * period or (cut_off and run >= min(period, 5)):
            return tuple(words[: len(words) - run])
    return tuple(words)
