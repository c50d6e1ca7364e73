"""English, for telling whether two turns say the same."""

from typing import Final

from turngap.llm.speculation.english_numbers import NUMBERS
from turngap.llm.speculation.english_phrases import ASIDES, FRAMES, OPENINGS, PHRASES, SPELLINGS, WHOLE, WRAPPERS
from turngap.llm.speculation.language import Language, Words


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_S_IS = "it he she that this there here what where when who how why let's everything everyone nothing"
_CONTRACTIONS: dict[str, Words] = {
    **{f"{word}'s": (word, "is") for word in _S_IS.split()},
    "let's": ("let", "us"),
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
    "y'all": ("you",),
    "ma'am": (),
    "'cause": ("because",),
}

_FILLERS = "um uh uhm umm uhh er erm ehm hmm hm mm mmm ah eh"
_GREETINGS = "hi hello hey yo oh so and but okay alright anyway actually basically sorry sir madam"

_SYNONYMS = """
close shut
begin start
buy purchase
book reserve
reservation booking
mobile cell
phone telephone
parcel package
bill invoice
price cost
film movie
car vehicle
doctor doc
toilet restroom bathroom washroom loo
shop store
person human somebody someone
anybody anyone
everybody everyone
help assist assistance
fix repair
big large
little small
quick fast
cheap inexpensive
say tell
update change modify
reschedule postpone move
wrong incorrect
sad unhappy
ill sick
allow permit
show display
holiday vacation
apartment flat
elevator lift
autumn fall
bike bicycle
photo picture
luggage baggage
lawyer attorney
kid child
mom mum mother
dad father
trousers pants
maybe perhaps
abroad overseas internationally
robot bot
address location
discount reduction
switch turn
on on!
end finish
get receive
put add
connect transfer
whole entire
require need
good great perfect excellent wonderful lovely awesome
choose pick select
"""

_HARMLESS = (
    "is are am be being do does some any for at with about regarding to as just really very quite degrees degree "
    "now then so there also guys will would can could yet currently and"
)

_PERSONS = {
    **dict.fromkeys(["i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves"], "I"),
    **dict.fromkeys(["you", "your", "yours", "yourself"], "you"),
    **dict.fromkeys(["he", "him", "his", "himself"], "he"),
    **dict.fromkeys(["she", "her", "hers", "herself"], "she"),
    **dict.fromkeys(["they", "them", "their", "theirs", "themselves"], "they"),
}

_CHOOSERS = (
    "this that which the other another last next first previous left right big large small medium little hot cold iced "
    "cheap cheaper cheapest new old red blue green black white top bottom upper lower middle same long short good best "
    "either any"
)

_AUXILIARIES = "is are am was were do does did have has had can could will would shall should may might must"
_QUESTIONS = "what when where who whom whose why how which price how-many how-much"

_PAST_FORMS = """
go went gone
come came
do done
make made
take took taken
give gave given
get got gotten
find found
lose lost
forget forgot forgotten
break broke broken
buy bought
pay paid
send sent
say said
tell told
see saw seen
hear heard
know knew known
think thought
meet met
win won
write wrote written
steal stole stolen
speak spoke spoken
eat ate eaten
drink drank drunk
drive drove driven
fly flew flown
sell sold
keep kept
sleep slept
spend spent
bring brought
catch caught
begin began begun
choose chose chosen
fall fell fallen
feel felt
hold held
build built
ring rang rung
run ran
sit sat
stand stood
teach taught
throw threw thrown
understand understood
wake woke woken
wear wore worn
be been
hide hid hidden
grow grew grown
show shown
stick stuck
"""

_PLURALS = """
man men
woman women
child children
person people
foot feet
tooth teeth
knife knives
wife wives
leaf leaves
loaf loaves
half halves
"""

_NOT_INFLECTED = (
    "this his is us yes bus gas plus always perhaps news less unless across its was has does as thus minus business "
    "wifi need needed seed feed speed bleed breed exceed indeed bed red shed hundred wed sacred "
    "thing something anything everything nothing morning evening parking meeting building wedding ceiling king ring "
    "spring string bring sing during pudding dressing wing swing sting cling fling clothing sibling dining living "
    "christmas glasses series species texas paris james thomas chess dress press address express access process "
    "tennis virus status bonus venus focus campus circus lens gps united iced fried wednesday embed"
)

_DATES = (
    "today tomorrow tonight yesterday monday tuesday wednesday thursday friday saturday sunday morning evening "
    "afternoon noon midnight"
)
_TIMES = f"{_DATES} now already again still soon timer tak on off up down out away back over"


_PARTINGS = (
    "welcome thanks day goodbye bye pleasure glad enjoy evening night weekend trip stay visit ride worries problem luck"
)
_OFFERS = "else other further more additional"
_FORMULA_WORDS = (
    "you your i we my our it was is are am be being have has had a an the of to for in on at with and so very "
    "much well again now then today soon always any anything something all can could may would will do does help "
    "helped helping assist assisted assisting assistance service services using use used contacting calling "
    "choosing visiting great good nice wonderful lovely fine safe happy rest time okay yes sure alright there "
    "this that if need me us see take care please come back glad hope like"
)


def _forms(lines: str) -> dict[str, str]:
    return {form: base for base, *forms in map(str.split, lines.strip().splitlines()) for form in forms}


def _same(lines: str) -> dict[str, str]:
    return {word: first for first, *others in map(str.split, lines.strip().splitlines()) for word in others}


ENGLISH: Final = Language(
    contractions=_CONTRACTIONS,
    endings={
        "n't": ("not",),
        "'m": ("am",),
        "'re": ("are",),
        "'ve": ("have",),
        "'ll": ("will",),
        "'d": ("would",),
        # "The internet's down" is short for "is", "the store's hours" is not; "is" is harmless, so neither is needed.
        "'s": (),
    },
    symbols={"%": "percent", "&": "and", "@": "at", "°": "degrees", "+": "plus", "=": "equals"},
    currencies={"$": "dollars", "€": "euros", "£": "pounds", "¥": "yen"},
    spellings=SPELLINGS,
    fillers=_set(_FILLERS),
    courtesies=frozenset(("please",)),
    numbers=NUMBERS,
    greetings=_set(_GREETINGS),
    frames=FRAMES,
    wrappers=WRAPPERS,
    asides=ASIDES,
    whole=WHOLE,
    openings=OPENINGS,
    phrases=PHRASES,
    synonyms=_same(_SYNONYMS),
    bundles={
        frozenset(("what", "pric")): "pric",
        frozenset(("how-much", "pric")): "pric",
    },
    harmless=_set(_HARMLESS),
    articles=frozenset(("a", "an", "the")),
    owners=frozenset(["my", "your", "his", "her", "our", "their"]),
    definite=frozenset(["the", "my", "your", "his", "her", "our", "their", "this", "that", "these", "those"]),
    pointers={"it": "", "this": "this", "these": "this", "that": "that", "those": "that"},
    choosers=_set(_CHOOSERS),
    movable=_set(_TIMES),
    dates=_set(_DATES) | NUMBERS.months - {"may"} | {"weekend"},
    particles=frozenset(("on", "in")),
    belongs=frozenset(("of", "in")),
    partings=_set(_PARTINGS),
    offers=_set(_OFFERS),
    formula_words=_set(f"{_PARTINGS} {_FORMULA_WORDS}"),
    yes=frozenset(("yes", "sure", "absolutely", "definitely", "certainly")),
    no=frozenset(("no",)),
    negators={
        "not": (),
        "no": (),
        "never": (),
        "without": (),
        "nothing": ("anything",),
        "nobody": ("anybody",),
        "none": ("any-of",),
        "neither": ("either",),
        "nor": (),
        "hardly": ("hardly",),
        "barely": ("hardly",),
        "except": ("except",),
    },
    persons=_PERSONS,
    own=frozenset(("I", "you")),
    giving=_set("get have order take try give bring show make do help"),
    subjects=frozenset(["i", "we", "you", "he", "she", "it", "they", "there", "this", "that", "these", "those"]),
    auxiliaries=_set(_AUXILIARIES),
    questions=_set(_QUESTIONS),
    whether=frozenset(("if", "whether")),
    past=frozenset(["did", "was", "were", "had"]),
    perfect=frozenset(["have", "has", "having"]),
    present=frozenset(["is", "are", "am", "be", "get", "gets"]),
    possible=_set("can could would may might"),
    future=frozenset(["will", "shall"]),
    past_forms=_forms(_PAST_FORMS),
    past_endings=("ed",),
    stem_endings=(
        ("iest", "y"),
        ("ies", "y"),
        ("ied", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("ing", ""),
        ("ed", ""),
        ("s", ""),
    ),
    doubled=frozenset("ls"),
    mute="e",
    plural_endings=("s",),
    uninflected=_set(_NOT_INFLECTED),
    irregular=_forms(_PLURALS),
)
