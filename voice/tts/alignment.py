"""Which words of a reply were heard when it was cut off. Pure.

A voice that tells where its words end is taken at its word. For one that doesn't, it is an estimate by proportion:
speech is taken to run evenly over the letters of the text.

Beside the ends of words that whisper-base gives, which knows nothing of the voice (45 texts by piper-joe, cut at 5
places each, of which it could judge 204): by the durations of the phonemes 88 % of the cuts are exact and all are
within one word; by the letters 33 % and 86 %. Beside what whisper-base hears in the 225 cut pieces, whose last word it
often completes: 60 % and 98 %; by the letters 26 % and 73 % (``python scripts/eval_alignment.py --seed 2``).
"""

from collections.abc import Sequence
from typing import Final

from turngap.voice.tts.protocol import WordEnd
from turngap.voice.tts.words import words_of

HEARD_SHARE: Final = 0.75
"""Of a word, counted from the end of the one before it: who heard so much of it has understood it.

Beside the recogniser's ends of words (see above), a share of 1 keeps a word too few in 25 % of the cuts and too many in
none, 0.75 errs in both directions alike (6 % each), and 0.5 keeps one too many in 24 %.
"""


def heard_prefix(
    text: str,
    *,
    played_samples: int,
    total_samples: int,
    words: Sequence[WordEnd] = (),
    complete: bool = True,
    share: float = HEARD_SHARE,
) -> str:
    """The words of ``text`` that were heard in the part that was played: a prefix of ``text``, cut at a word's end.

    ``total_samples`` is the audio that ``text`` has become, ``complete`` whether that is all of it: all of it played
    means all of it heard. ``words`` are those whose ends are known so far; with none, their ends are estimated.
    """
    if played_samples <= 0 or total_samples <= 0:
        return ""
    if complete and played_samples >= total_samples:
        return text
    heard, begin = 0, 0
    for word in words or estimated(text, total_samples):
        if begin + share * (word.samples - begin) > played_samples:
            break
        heard, begin = word.chars, word.samples
    return text[:heard]


def estimated(text: str, total_samples: int) -> list[WordEnd]:
    """Where the words of ``text`` would end, if each took as long as it has characters and a mark's pause."""
    found = words_of(text)
    weights = [len(word.group()) + 1 for word in found]
    ends, sofar = [], 0
    for word, weight in zip(found, weights, strict=True):
        sofar += weight
        ends.append(WordEnd(chars=word.end(), samples=-(-sofar * total_samples // sum(weights))))
    return ends
