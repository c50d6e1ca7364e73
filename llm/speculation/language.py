"""What has to be known of a language to tell whether two turns say the same. Pure.

The logic that reads it (:mod:`normal`, :mod:`numerals`, :mod:`meaning`, :mod:`guard`) knows no word of any language;
another language is another :class:`Language`. All words are in lower case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Words: TypeAlias = tuple[str, ...]
_SHORTEST_STEM: Final = 3


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Words in a row, and what stands for them; of two that fit, the longer one is taken."""

    rows: Mapping[Words, Words] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(init=False)
    """The longest row that begins with a word."""

    def __post_init__(self) -> None:
        lengths: dict[str, int] = {}
        for first, *rest in self.rows:
            lengths[first] = max(lengths.get(first, 0), 1 + len(rest))
        object.__setattr__(self, "lengths", lengths)

    def at(self, words: Words, start: int) -> Words:
        """The longest row that ``words`` hold at ``start``; empty if there is none."""
        longest = self.lengths.get(words[start], 0) if start < len(words) else 0
        for length in range(min(longest, len(words) - start), 0, -1):
            if words[start : start + length] in self.rows:
                return words[start : start + length]
        return ()

    def apply(self, words: Words) -> Words:
        """``words`` with every row replaced, from left to right."""
        found: list[str] = []
        at = 0
        while at < len(words):
            row = self.at(words, at)
            found += self.rows[row] if row else words[at : at + 1]
            at += len(row) or 1
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """How numbers are spelled."""

    ones: Mapping[str, int] = field(default_factory=dict)
    """Zero to nineteen."""
    tens: Mapping[str, int] = field(default_factory=dict)
    scales: Mapping[str, int] = field(default_factory=dict)
    """What multiplies: hundred, dozen, million."""
    ordinals: Mapping[str, int] = field(default_factory=dict)
    ordinal_endings: Words = ()
    """The endings of ordinals in figures; the first is the one we write."""
    one: frozenset[str] = frozenset()
    """What counts as one before a scale: "a hundred"."""
    joiner: str = ""
    """What may stand before the last group: "two hundred *and* five"."""
    point: str = ""
    half: tuple[Words, ...] = ()
    """What adds a half to the number before it."""
    nought: frozenset[str] = frozenset()
    """What people say for zero among figures."""
    repeats: Mapping[str, int] = field(default_factory=dict)
    """ "Double five" among figures."""
    clock: Mapping[Words, int] = field(default_factory=dict)
    """Minutes that words add to the hour that follows them."""
    past: Words = ()
    """What stands between minutes and the hour before them: "ten *past* three"."""
    halves_of_day: Mapping[Words, Words] = field(default_factory=dict)
    """What tells the half of the day, after a number only."""
    months: frozenset[str] = frozenset()
    """A number right after these is an ordinal: "May 5"."""
    starts: frozenset[str] = field(init=False)
    """What numbers in words begin with."""
    halves: frozenset[str] = field(init=False)
    """What :attr:`halves_of_day` stand for."""

    def __post_init__(self) -> None:
        words = {*self.ones, *self.tens, *self.scales, *self.ordinals}
        object.__setattr__(self, "starts", frozenset(words))
        halves = {word for row in self.halves_of_day.values() for word in row}
        object.__setattr__(self, "halves", frozenset(halves))


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Word lists; with none of them, two turns say the same if their words are the same."""

    contractions: Mapping[str, Words] = field(default_factory=dict)
    endings: Mapping[str, Words] = field(default_factory=dict)
    """What an ending behind an apostrophe stands for."""
    symbols: Mapping[str, str] = field(default_factory=dict)
    currencies: Mapping[str, str] = field(default_factory=dict)
    """Signs that stand before their number, and the word that stands after it."""
    spellings: Rewrites = Rewrites()
    """Other ways to write or to slur the same words."""
    fillers: frozenset[str] = frozenset()
    courtesies: frozenset[str] = frozenset()
    """Left out as long as something else is said."""
    numbers: NumberWords = NumberWords()

    greetings: frozenset[str] = frozenset()
    """What may stand before what is wanted."""
    frames: Rewrites = Rewrites()
    """How a wish begins, whatever the wish is."""
    wrappers: Rewrites = Rewrites()
    """How a question is led up to: "can you tell me"; only where a question word follows."""
    asides: Rewrites = Rewrites()
    """What may stand anywhere and asks for nothing."""
    whole: Mapping[Words, Words] = field(default_factory=dict)
    """Turns of one meaning that say nothing else."""
    openings: Rewrites = Rewrites()
    """Phrases of one meaning where a turn begins with them."""
    phrases: Rewrites = Rewrites()
    """Phrases of one meaning anywhere."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Words of one meaning, in their basic form."""
    bundles: Mapping[frozenset[str], str] = field(default_factory=dict)
    """Words that together mean what another says, wherever they stand: "what does it *cost*"."""
    harmless: frozenset[str] = frozenset()
    """Words that change no answer."""
    articles: frozenset[str] = frozenset()
    """Harmless too, and a "1" may stand for them."""
    definite: frozenset[str] = frozenset()
    """After these, whether a noun means one or many matters."""
    owners: frozenset[str] = frozenset()
    """Of these, those that say whose a thing is: "my work" is not "work"."""
    pointers: Mapping[str, str] = field(default_factory=dict)
    """Pronouns for things, by what they point at: near, far, or (empty) whatever is spoken of."""
    choosers: frozenset[str] = frozenset()
    """A "1" after these is a pronoun: "the large one"."""
    movable: frozenset[str] = frozenset()
    """What may stand elsewhere in the sentence."""
    dates: frozenset[str] = frozenset()
    """Days, and what else says when: what is so at one of them is not at another."""
    particles: frozenset[str] = frozenset()
    """Prepositions that change no answer, except at the end of a turn, where they belong to its verb."""
    belongs: frozenset[str] = frozenset()
    """ "The balance *of* the account" is the account balance."""

    partings: frozenset[str] = frozenset()
    """A reply parts if it has one of these,"""
    offers: frozenset[str] = frozenset()
    """or offers more if it has one of these,"""
    formula_words: frozenset[str] = frozenset()
    """and nothing but these: what goodbyes and offers are made of."""

    yes: frozenset[str] = frozenset()
    no: frozenset[str] = frozenset()
    negators: Mapping[str, Words] = field(default_factory=dict)
    """What denies the next word that means something, and what else it says."""
    persons: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    """Of the persons' names, those of who speaks and who is spoken to: they may go without saying."""
    giving: frozenset[str] = frozenset()
    """What one gets where another gives: "can I have" asks for the same as "can you give me"."""
    subjects: frozenset[str] = frozenset()
    auxiliaries: frozenset[str] = frozenset()
    """A question begins with these,"""
    questions: frozenset[str] = frozenset()
    """or with these."""
    whether: frozenset[str] = frozenset()
    """What begins a question inside a sentence."""
    past: frozenset[str] = frozenset()
    perfect: frozenset[str] = frozenset()
    """These and a past form are past,"""
    present: frozenset[str] = frozenset()
    """these and a past form are not: "it is included"."""
    future: frozenset[str] = frozenset()
    possible: frozenset[str] = frozenset()
    """Beside a subject these tell what could be done, which nobody asks for: "I can come"."""
    past_forms: Mapping[str, str] = field(default_factory=dict)
    """Irregular past forms and participles, with their infinitives."""
    past_endings: Words = ()
    stem_endings: tuple[tuple[str, str], ...] = ()
    """Endings of inflected forms and what takes their place; the first that fits is taken."""
    doubled: frozenset[str] = frozenset()
    """Letters that words double at their own end, and not only before an ending."""
    mute: str = ""
    """A letter at the end that goes before an ending."""
    plural_endings: Words = ()
    uninflected: frozenset[str] = frozenset()
    """Words that only look like an inflected form."""
    irregular: Mapping[str, str] = field(default_factory=dict)
    """Irregular plurals and forms of no tense."""

    def __post_init__(self) -> None:
        stemmed = {self.stem(word): self.stem(meant) for word, meant in self.synonyms.items()}
        object.__setattr__(self, "synonyms", stemmed)

    def stem(self, word: str) -> str:
        """The basic form of a word, as far as its ending tells; the same for all forms of regular words."""
        word = self.irregular.get(word) or self.past_forms.get(word) or word
        if word not in self.uninflected:
            for ending, instead in self.stem_endings:
                if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                    word = word.removesuffix(ending) + instead
                    if not instead and len(word) > _SHORTEST_STEM and word[-1] == word[-2] not in self.doubled:
                        word = word[:-1]
                    break
        return word.removesuffix(self.mute) if len(word) > _SHORTEST_STEM else word
