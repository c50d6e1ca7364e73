"""Numbers as they are said and as recognisers write them, brought to figures. Pure.

"Twenty five" is ``25``, "the second" ``2nd``, "half past three" ``3:30``, "five five five one two" ``55512``. Where
figures can be read in two ways ("twelve fifty" is a price or a time) we keep to one, and to one that is never the
number of somebody who said something else: what is read too narrowly costs a hit, what is read too widely an answer.
"""

import re
from typing import Final

from turngap.llm.speculation.language import NumberWords, Words

_FIGURES: Final = re.compile(r"\d+")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL: Final = re.compile(r"\d+\.\d+")
_CLOCK: Final = re.compile(r"(\d{1,2}):00")
_DICTATED: Final = 3
"""So many single figures in a row are one number; "one two" may be two."""
_THOUSAND: Final = 1000
_LONGEST: Final = 16
"""Nobody spells a number in more words."""
_LONG: Final = 7
"""So many figures in groups are a phone number, whatever its groups."""


def figures(words: Words, language: NumberWords) -> Words:
    """``words`` with every number in figures."""
    if not any(word[:1].isdigit() or word in language.starts for word in words):
        return words
    found = _spelled([_tidy(word) for word in words], language)
    found = _repeated(found, language)
    found = _halves(found, language)
    found = _joined(found)
    return tuple(_dates(_clocks(found, language), language))


def is_number(word: str) -> bool:
    """Whether ``word`` is a number in figures, be it an ordinal or a time."""
    return word[:1].isdigit()


def _tidy(word: str) -> str:
    """A number that is in figures already, in our way to write it."""
    if _GROUPED.fullmatch(word):
        word = word.replace(",", "")
    if _DECIMAL.fullmatch(word):
        return word.rstrip("0").rstrip(".")
    if clock := _CLOCK.fullmatch(word):
        return clock[1]
    return word


def _spelled(words: list[str], language: NumberWords) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(words):
        text, used = _number(words[at : at + _LONGEST], language)
        found.append(text)
        at += used
    return found


def _number(words: list[str], language: NumberWords) -> tuple[str, int]:
    """The number that ``words`` begin with and how many of them it takes; else the first word."""
    value, used = _scaled(words, language)
    rest = words[used:]
    if rest and rest[0] in language.ordinals and _takes(value if used else 0, language.ordinals[rest[0]]):
        return _ordinal((value if used else 0) + language.ordinals[rest[0]], language), used + 1
    if not used:
        return words[0], 1
    if len(rest) > 1 and rest[0] == language.point and (decimals := _decimals(rest[1:], language)):
        return f"{value}.{decimals}".rstrip("0").rstrip("."), used + 1 + len(decimals)
    # Figures keep their leading zeros: a code is no count.
    return words[0] if used == 1 and _FIGURES.fullmatch(words[0]) else str(value), used


def _scaled(words: list[str], language: NumberWords) -> tuple[int, int]:
    """The cardinal number that ``words`` begin with, and how many of them it takes: none if there is no number."""
    total, group, used, smallest = 0, 0, 0, 0
    while used < len(words):
        joined = bool(used) and words[used] == language.joiner
        small, taken = _small(words[used + joined :], language, first=not used)
        scale = language.scales.get(words[used], 0)
        if taken and _fits(small, group, total, started=bool(used)):
            group, used = group + small, used + joined + taken
        elif scale and scale < _THOUSAND and group < scale:
            group, used = max(group, 1) * scale, used + 1
        elif scale >= _THOUSAND and (not smallest or scale < smallest) and (group or not used):
            total, group, used, smallest = total + max(group, 1) * scale, 0, used + 1, scale
        else:
            break
    return total + group, used


def _fits(small: int, group: int, total: int, *, started: bool) -> bool:
    """Whether a number below a hundred can go on with what was said so far."""
    if not started:
        return True
    round_so_far = group % 100 == 0 and bool(group or total)
    return round_so_far and 0 < small < 100


def _small(words: list[str], language: NumberWords, *, first: bool) -> tuple[int, int]:
    """A number below a hundred, in figures any number but only at the beginning."""
    word, *rest = words or [""]
    if first and _FIGURES.fullmatch(word):
        return int(word), 1
    if first and word in language.one and rest[:1] and rest[0] in language.scales:
        return 1, 1
    if word in language.ones:
        return language.ones[word], 1
    if word in language.tens:
        one = language.ones.get(rest[0], 0) if rest else 0
        return language.tens[word] + (one if one < 10 else 0), 1 + (0 < one < 10)
    return 0, 0


def _takes(value: int, ordinal: int) -> bool:
    """Whether "twenty" takes "first": what a number ends with must be round."""
    return not value or (ordinal < 10 and value % 10 == 0) or (ordinal < 100 and value % 100 == 0)


def _ordinal(value: int, language: NumberWords) -> str:
    return f"{value}{language.ordinal_endings[0]}"


def _decimals(words: list[str], language: NumberWords) -> str:
    found = ""
    for word in words:
        if len(word) == 1 and word.isdigit():
            found += word
        elif word in language.ones and language.ones[word] < 10:
            found += str(language.ones[word])
        else:
            break
    return found


def _repeated(words: list[str], language: NumberWords) -> list[str]:
    """ "Oh" and "double" among single figures."""
    found: list[str] = []
    at = 0
    while at < len(words):
        word, following = words[at], words[at + 1 : at + 3]
        after_figure = bool(found) and _single(found[-1])
        if word in language.nought and (after_figure or (len(following) > 1 and all(map(_single, following)))):
            found.append("0")
        elif word in language.repeats and following and _single(following[0]) and (after_figure or _more(following)):
            found += [following[0]] * language.repeats[word]
            at += 1
        else:
            found.append(word)
        at += 1
    return found


def _single(word: str) -> bool:
    return len(word) == 1 and word.isdigit()


def _more(following: list[str]) -> bool:
    return len(following) > 1 and _single(following[1])


def _halves(words: list[str], language: NumberWords) -> list[str]:
    """ "One and a half"."""
    found: list[str] = []
    at = 0
    while at < len(words):
        half = next((each for each in language.half if tuple(words[at : at + len(each)]) == each), ())
        if half and found and _FIGURES.fullmatch(found[-1]):
            found[-1] += ".5"
            at += len(half)
        else:
            found.append(words[at])
            at += 1
    return found


def _joined(words: list[str]) -> list[str]:
    """Figures in a row that are one number."""
    found: list[str] = []
    run: list[str] = []
    for word in [*words, ""]:
        if _FIGURES.fullmatch(word):
            run.append(word)
            continue
        found += _one(run)
        run = []
        found.append(word)
    return found[:-1]


def _one(run: list[str]) -> list[str]:
    together = "".join(run)
    if len(run) >= _DICTATED and all(len(each) == 1 for each in run):
        return [together]
    if len(run) > 1 and len(together) >= _LONG:
        return [together]
    if len(run) == 2 and len(run[1]) == 2:
        if run[0] in ("19", "20") and int(run[1]) > 9:
            return [together]
        if len(run[0]) < 3 and 0 < int(run[0]) <= 12 and 10 <= int(run[1]) < 60:
            return [f"{int(run[0])}:{run[1]}"]
    return run


def _clocks(words: list[str], language: NumberWords) -> list[str]:
    """ "Half past three", "ten past three", and "three in the afternoon"."""
    found: list[str] = []
    at = 0
    while at < len(words):
        rest = tuple(words[at : at + _LONGEST])
        minutes, used = _minutes(rest, language)
        half = next((each for each in language.halves_of_day if rest[: len(each)] == each), ())
        if used and len(rest) > used and _is_hour(rest[used]):
            found.append(_time(int(rest[used]), minutes))
            at += used + 1
        elif half and found and is_number(found[-1]):
            found += language.halves_of_day[half]
            at += len(half)
        else:
            found.append(words[at])
            at += 1
    return found


def _minutes(words: Words, language: NumberWords) -> tuple[int, int]:
    """The minutes that ``words`` add to the hour after them, and how many words it takes."""
    for said, minutes in language.clock.items():
        if words[: len(said)] == said:
            return minutes, len(said)
    if words[1:2] == language.past and _FIGURES.fullmatch(words[0]) and int(words[0]) < 60:
        return int(words[0]), 2
    return 0, 0


def _is_hour(word: str) -> bool:
    return bool(_FIGURES.fullmatch(word)) and len(word) < 3 and 0 < int(word) <= 12


def _time(hour: int, minutes: int) -> str:
    if minutes < 0:
        hour, minutes = hour - 1 or 12, minutes + 60
    return f"{hour}:{minutes:02}"


def _dates(words: list[str], language: NumberWords) -> list[str]:
    """Ordinals in one spelling, and the day after a month as one."""
    found: list[str] = []
    for word in words:
        if word.endswith(language.ordinal_endings) and _FIGURES.fullmatch(word[:-2]):
            word = _ordinal(int(word[:-2]), language)
        elif found and found[-1] in language.months and _FIGURES.fullmatch(word) and len(word) < 3 and int(word) < 32:
            word = _ordinal(int(word), language)
        found.append(word)
    return found
