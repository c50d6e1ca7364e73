"""How English spells numbers, times and dates."""

from typing import Final

from turngap.llm.speculation.language import NumberWords

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_MONTHS = (
    "january february march april june july august september october november december jan feb apr jun jul aug sept "
    "oct nov dec"
)

NUMBERS: Final = NumberWords(
    ones={word: value for value, word in enumerate(_ONES.split())},
    tens={word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    scales={"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000},
    ordinals={word: value for value, word in enumerate(_ORDINALS.split()) if value}
    | {f"{word[:-1]}ieth": 10 * value for value, word in enumerate(_TENS.split(), 2)}
    | {"hundredth": 100},
    ordinal_endings=("th", "st", "nd", "rd"),
    one=frozenset(("a", "an")),
    joiner="and",
    point="point",
    half=(("and", "a", "half"), ("and", "half")),
    nought=frozenset(("oh", "o")),
    repeats={"double": 2, "triple": 3},
    clock={
        ("half", "past"): 30,
        ("half", "after"): 30,
        ("quarter", "past"): 15,
        ("a", "quarter", "past"): 15,
        ("quarter", "after"): 15,
        ("a", "quarter", "after"): 15,
        ("quarter", "to"): -15,
        ("a", "quarter", "to"): -15,
        ("quarter", "till"): -15,
        ("quarter", "til"): -15,
    },
    past=("past",),
    halves_of_day={
        ("in", "the", "morning"): ("am",),
        ("in", "the", "afternoon"): ("pm",),
        ("in", "the", "evening"): ("pm",),
        ("at", "night"): ("pm",),
    },
    # "May 5" and "may 5 people come" look alike, and "march 5" rarely is a command.
    months=frozenset((*_MONTHS.split(), "may")),
)
