"""Going on from words that the user hears already, for models that cannot be made to begin with them.

A backend that can put words into its model's mouth does so, and needs none of this. For one that cannot, the model
is told what was said (:func:`instruction`), and since models like to say it again all the same, a repetition at the
start is taken out of the stream (:class:`WithoutRepeat`) before anybody hears it twice.
"""

import string
from typing import Final

PAUSES: Final = frozenset(",.!?;:…—–，。！？；：、")
"""Marks that may stand between a repetition and what comes next, and behind which a clause begins."""

JOINTS: Final = frozenset(".,:'’-")
"""Marks that may be inside of a word or a number."""

TAIL_WORDS: Final = 2
"""Of an opener's later clauses, those of so many words or more are told apart from chance."""

_BETWEEN: Final = "".join(PAUSES) + string.whitespace


def instruction(opener: str) -> str:
    """A sentence for the system's prompt that makes the reply fit behind ``opener``."""
    said = opener.strip().replace('"', "'")
    return (
        f'You have just said "{said}" aloud, as the beginning of this reply. '
        "Write only the words that follow it, so that both read as one sentence. Do not say it again."
    )


class WithoutRepeat:
    """Feed it a continuation as it comes; it gives back what may be heard after ``opener``.

    Left out is whatever the continuation says again at its start: the opener, or a later clause of it, however it is
    spelled (case, punctuation), and as often as it is said. What comes out reads as one when put right behind the
    opener. Text is held back only while it may still turn out to be a repetition.
    """

    def __init__(self, opener: str) -> None:
        self._spaced = opener[-1:].isspace() or not opener
        self._repeats = _clauses(opener)
        self._held = ""
        self._dropped = False
        self._passing = not self._repeats
        self._begun = False

    def feed(self, text: str) -> str:
        """What of the continuation may be heard, now that ``text`` came."""
        self._held += text
        return self._release(last=False)

    def end(self) -> str:
        """What was held back, now that nothing more will come."""
        return self._release(last=True)

    def _release(self, *, last: bool) -> str:
        while not self._passing:
            if self._dropped:  # and the marks that stood behind it
                self._held = self._held.lstrip(_BETWEEN)
            repeated = _repeated(self._held, self._repeats, last=last)
            if repeated is None:
                return ""
            self._held = self._held[repeated:]
            self._dropped = self._dropped or bool(repeated)
            self._passing = not repeated
        return self._joined()

    def _joined(self) -> str:
        """What is held, with the one space before it that a sentence needs; nothing until it holds a word."""
        text, self._held = self._held, ""
        if self._begun:
            return text
        text = text.lstrip()
        self._begun = bool(text)
        return text if self._spaced or not text or text[0] in PAUSES else f" {text}"


def _clauses(opener: str) -> list[str]:
    """What would be a repetition, as plain letters and digits: the opener whole, and from each later clause on."""
    ends = (at for at, mark in enumerate(opener, start=1) if mark in PAUSES and opener[at : at + 1].isspace())
    repeats = [opener, *(opener[at:] for at in ends if len(opener[at:].split()) >= TAIL_WORDS)]
    return [plain for repeat in repeats if (plain := "".join(_plain(letter) for letter in repeat))]


def _plain(letter: str) -> str:
    return letter.casefold() if letter.isalnum() else ""


def _repeated(text: str, repeats: list[str], *, last: bool) -> int | None:
    """The length of the longest repetition that ``text`` begins with, 0 for none, None while more has to be known."""
    ends = [_end(text, repeat, last=last) for repeat in repeats]
    return None if None in ends else max(end for end in ends if end is not None)


def _end(text: str, repeat: str, *, last: bool) -> int | None:
    """Where in ``text`` the letters of ``repeat`` end with a word, 0 if they do not, None until that is known."""
    matched = 0
    for at, letter in enumerate(text, start=1):
        plain = _plain(letter)
        if not repeat.startswith(plain, matched):
            return 0
        matched += len(plain)
        if matched == len(repeat):
            return _word_end(text, at, last=last)
    return 0 if last else None


def _word_end(text: str, at: int, *, last: bool) -> int | None:
    """``at`` if a word of ``text`` ends there, so that "3" is not taken from "3.50", nor "I" from "I'll"; 0 if not."""
    after = text[at : at + 2]
    if not last and (not after or after in JOINTS):
        return None
    return 0 if after[:1].isalnum() or (after[:1] in JOINTS and after[1:].isalnum()) else at
