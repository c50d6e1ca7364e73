"""Cutting a reply into pieces worth speaking, while it is still being written.

The first piece decides when the user hears something: it is the shortest text worth speaking. While it plays there
is time, so later pieces are longer, for prosody's sake. Where the cuts fall depends on the text alone, never on how
it arrived: a cut is made once it is certain, for most marks when the character after it is known.

* A *clause* ends in one of ``, . ! ? ; : —`` or a line break, except inside numbers (3.5, 10:30), after titles and
  abbreviations (Mr., e.g.) and after single initials.
* Without one, a piece is cut at a word boundary that does not leave an article or a preposition hanging.
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How long a piece is. Words are counted by the white space between them."""

    clause_words: int
    """A clause's end cuts from here on."""
    clause_chars: int
    most_words: int
    """A word boundary cuts from here on, where the words allow it."""
    sentence_words: int = 1
    """A sentence's end cuts from here on."""


FIRST: Final = Sizes(clause_words=2, clause_chars=8, most_words=4)
LATER: Final = Sizes(clause_words=8, clause_chars=24, most_words=25, sentence_words=3)

PATIENCE: Final = 3
"""Words beyond ``most_words`` after which a cut is made even behind an article."""

_SENTENCE: Final = frozenset(".!?\n…。！？")
_CLAUSE: Final = frozenset(",;:—、，；：") | _SENTENCE
_SURE: Final = frozenset(",!?;，；！？")
"""After a letter these end a clause; a full stop may be inside of a name or an abbreviation."""
_CLOSING: Final = frozenset("\"')]}”’»*_")
_ABBREVIATIONS: Final = "mr mrs ms dr prof st sr jr vs etc e.g i.e a.m p.m no approx dept fig inc ltd u.s u.k"
_LEANING: Final = """
a an the this that these those my your our his her its their to of in on at by for from with into onto over under
about as than and or but nor so if when while because i you we they he she it is are was were be been am will
would can could should may might must do does did not no very too more most some any each every two three
i'm i'll i'd i've you're you'll we'll we're it's that's let's don't can't won't small medium large
"""
"""Words that lean on the next one; a voice that stopped after them would sound as if it were at a loss."""


class Clauses:
    """Feed it text as it comes; it gives back pieces, and joined they are the text, but for white space."""

    def __init__(self, first: Sizes = FIRST, later: Sizes = LATER) -> None:
        self._sizes = first
        self._later = later
        self._text = ""
        self._looked = 0

    def feed(self, text: str) -> list[str]:
        """The pieces that ``text`` completes."""
        self._text += text
        pieces = []
        while (at := self._cut()) is not None:
            pieces.append(self._text[:at].strip())
            self._text, self._looked, self._sizes = self._text[at:].lstrip(), 0, self._later
        return [piece for piece in pieces if piece]

    def end(self) -> list[str]:
        """What is left. The next text that is fed begins a new reply's later piece."""
        rest, self._text, self._looked = self._text.strip(), "", 0
        return [rest] if rest else []

    def _cut(self) -> int | None:
        """The end of the first piece in the text, or None until that is certain."""
        for at in range(max(1, self._looked), len(self._text) + 1):
            if self._ends_surely(at) or (at < len(self._text) and self._ends_at(at)):
                return at
        self._looked = len(self._text)
        return None

    def _ends_surely(self, at: int) -> bool:
        """Whether a piece ends before position ``at`` whatever comes there: a token less to wait for."""
        before = self._text[at - 1]
        if before not in _SURE or not self._text[at - 2 : at - 1].isalpha():
            return False
        return self._long_enough(at, sentence=before in _SENTENCE)

    def _ends_at(self, at: int) -> bool:
        """Whether a piece ends before position ``at``, which holds a character that belongs to it no more."""
        before, after = self._text[at - 1], self._text[at]
        if before == "\n" or after == "\n":
            return self._long_enough(at, sentence=True)
        if before == "—" and not after.isspace():
            return self._long_enough(at, sentence=False)
        if not after.isspace():
            return False
        head = self._text[:at].rstrip()
        bare = head.rstrip("".join(_CLOSING))
        if not head or before.isspace():
            return False
        if bare and bare[-1] in _CLAUSE and not _abbreviated(bare):
            return self._long_enough(at, sentence=bare[-1] in _SENTENCE)
        return self._overlong(head)

    def _long_enough(self, at: int, *, sentence: bool) -> bool:
        head = self._text[:at].strip()
        if not re.search(r"\w", head):
            return False
        words, sizes = len(head.split()), self._sizes
        if words >= sizes.clause_words and len(head) >= sizes.clause_chars:
            return True
        return sentence and words >= sizes.sentence_words and head[-1:] not in ","

    def _overlong(self, head: str) -> bool:
        words = head.split()
        if len(words) < self._sizes.most_words:
            return False
        leans = words[-1].lower().strip("\"'“”’(*_") in _LEANING.split() or words[-1][-1:].isdigit()
        return not leans or len(words) >= self._sizes.most_words + PATIENCE


def _abbreviated(head: str) -> bool:
    """Whether the full stop at the end of ``head`` is part of its last word."""
    if head[-1] != ".":
        return False
    word = re.split(r"[\s(\"“]", head)[-1][:-1].lower()
    if word.isdigit():
        return len(head.split()) == 1  # "1." numbers an item of a list
    return word in _ABBREVIATIONS.split() or (len(word) == 1 and word.isalpha() and word != "i")


_EMOJI: Final = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe00-\ufe0f\u200d\u20e3\U000e0020-\U000e007f]+"
)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_LINE_MARKS: Final = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+•][ \t]+|```.*$|[-*_]{3,}[ \t]*$)")
_EMPHASIS: Final = re.compile(r"\*+|`+|~~|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")


def speakable(text: str) -> str:
    """``text`` as a voice can say it: without emphasis marks, bullets, headings, link targets and emoji."""
    for pattern, instead in ((_LINK, r"\1"), (_LINE_MARKS, ""), (_EMPHASIS, ""), (_EMOJI, "")):
        text = pattern.sub(instead, text)
    text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r" +(?=[,.;:!?])", "", text).strip()


def spoken(text: str) -> list[str]:
    """All pieces of a text that is known whole."""
    clauses = Clauses()
    return [words for clause in (*clauses.feed(text), *clauses.end()) if (words := speakable(clause))]
