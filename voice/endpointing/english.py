"""English, for :mod:`turngap.voice.endpointing.wording`."""

from typing import Final

from turngap.voice.endpointing.wording import Lexicon

_NEVER_LAST = "a an the my your our their and or but because every"
_DETERMINERS = "his her its some each another"
_PREPOSITIONS = "of to for from with without at by in into onto about between against during until like than"
_CONJUNCTIONS = "nor since although though unless whether if when while so that which whose"
_AUXILIARIES = (
    "am is are was were be been being do does did have has had can could will would shall should may might must"
)
_SUBJECTS = "i we they he she i'm i'd i'll i've we're we'd we'll you're it's there's let's can't don't won't"
_DEGREES = "very really quite just maybe perhaps plus minus"
_FIGURES = "zero oh one two three four five six seven eight nine double triple"
_FILLERS = "um uh uhm er erm hmm hm mm well"
_ASKS = "is are was were do does did can could will would shall should have has had may am isn't aren't don't"
_ANSWERS = "yes yeah yep yup no nope nah sure okay ok right correct exactly absolutely definitely please never"
_WANT_FIGURES = "number digits code phone zip card pin spell account"
_ALONG = "yeah yes yep yup ya mhm mm mmm mmhmm uh huh aha ah oh ooh ok okay right sure cool nice great good wow really"
_ALONG_TOO = "alright exactly indeed true see i gotcha totally absolutely"
_CLAIMS = (
    "stop wait no nope hold hang pause quiet enough cancel sorry excuse but actually hey what why who where when how"
)


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in text.split(","))


_OPEN = "would like,i want,i need,can i get,can i have,could i get,could i have,give me,get me,i think,let me,number is"
_CLOSINGS = "please,thanks,thank you,bye,goodbye,that's all,that's it,that is all,that is it"

ENGLISH: Final = Lexicon(
    never_last=frozenset(_NEVER_LAST.split()),
    open_ends=frozenset(
        f"{_DETERMINERS} {_PREPOSITIONS} {_CONJUNCTIONS} {_AUXILIARIES} {_SUBJECTS} {_DEGREES}".split()
    ),
    open_phrases=_phrases(_OPEN),
    fillers=frozenset(_FILLERS.split()),
    closings=_phrases(_CLOSINGS),
    asks_yes_or_no=frozenset(_ASKS.split()),
    alternatives=frozenset(("or", "what", "which", "how")),
    answers=frozenset(_ANSWERS.split()),
    asks_for_figures=frozenset(_WANT_FIGURES.split()),
    figures=frozenset(_FIGURES.split()),
    backchannels=frozenset(f"{_ALONG} {_ALONG_TOO}".split()),
    claims=frozenset(_CLAIMS.split()),
)
