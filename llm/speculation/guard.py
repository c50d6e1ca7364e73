"""Why a reply that is known for one turn must not be given to another that sounds like it. Pure.

Embeddings put "with sugar" beside "without sugar", and "at six" beside "at seven". So closeness only proposes, and
this decides: two turns may differ in what the language lists as harmless or as meaning the same, and in nothing else.
Whatever else is in one of them only may be a slot, and is a conflict. A miss costs some milliseconds, a false hit
an answer.
"""

from collections.abc import Iterable

from turngap.llm.speculation.language import Language
from turngap.llm.speculation.meaning import DENIED, Meaning, meaning
from turngap.llm.speculation.normal import normal
from turngap.llm.speculation.numerals import is_number


def conflict(said: str, known: str, language: Language) -> str | None:
    """Why ``said`` must not get the reply that is known for ``known``; None if it may."""
    one, two = normal(said, language), normal(known, language)
    return None if one == two else differing(meaning(one, language), meaning(two, language), language)


def differing(said: Meaning, known: Meaning, language: Language) -> str | None:
    """The same for meanings that were taken before: the first difference that matters."""
    return (
        _denial(said, known)
        or _numbers(said, known)
        or _words(said, known)
        or _asking(said, known)
        or _tense(said, known)
        or _persons(said, known, language)
        or _doing(said, known)
        or _pointing(said, known)
        or _count(said, known)
        or _whose(said, known)
        or _called(said, known, language)
        or _order(said, known, language)
    )


def _denial(said: Meaning, known: Meaning) -> str | None:
    one, two = ({term for term in each.terms if term.startswith(DENIED)} for each in (said, known))
    if one == two:
        return None
    return f"negation: only one of them denies {_names(term.removeprefix(DENIED) for term in one ^ two)}"


def _numbers(said: Meaning, known: Meaning) -> str | None:
    one, two = ([term for term in each.terms if is_number(term)] for each in (said, known))
    one, two = _counted(one, two, known), _counted(two, one, said)
    return None if one == two else f"numbers: {' '.join(one) or 'none'} against {' '.join(two) or 'none'}"


def _counted(own: list[str], others: list[str], other: Meaning) -> list[str]:
    """ "One latte" is "a latte"."""
    return [each for each in own if each != "1"] if "1" not in others and other.articles else own


def _words(said: Meaning, known: Meaning) -> str | None:
    one, two = ({term for term in each.terms if term != "1"} for each in (said, known))
    if one != two:
        return f"words: only one of them says {_names(one ^ two)}"
    return "words: nothing to tell them by" if said.plain != known.plain else None


def _asking(said: Meaning, known: Meaning) -> str | None:
    return "question: only one of them asks" if said.asked != known.asked else None


def _tense(said: Meaning, known: Meaning) -> str | None:
    if said.tenses == known.tenses:
        return None
    return f"tense: {_names(said.tenses) or 'present'} against {_names(known.tenses) or 'present'}"


def _persons(said: Meaning, known: Meaning, language: Language) -> str | None:
    """You and I may go without saying where they would come first, unless it is something else that is not named."""
    shorter, longer = sorted((said.persons, known.persons), key=len)
    if shorter == longer:
        return None
    unnamed = longer[: len(longer) - len(shorter)]
    silent = len(unnamed) == 1 and longer[1:] == shorter and unnamed[0] in language.own
    if silent and said.pointed == known.pointed:
        return None
    return f"person: {' '.join(said.persons) or 'none'} against {' '.join(known.persons) or 'none'}"


def _doing(said: Meaning, known: Meaning) -> str | None:
    if said.doer and known.doer and said.doer != known.doer:
        return f"person: {said.doer} against {known.doer}"
    return None


def _pointing(said: Meaning, known: Meaning) -> str | None:
    one, two = said.pointed - {""}, known.pointed - {""}
    return f"which one: {_names(one)} against {_names(two)}" if one and two and one != two else None


def _count(said: Meaning, known: Meaning) -> str | None:
    wrong = (said.plural & known.single) | (said.single & known.plural)
    return f"quantity: one or many of {_names(wrong)}" if wrong else None


def _whose(said: Meaning, known: Meaning) -> str | None:
    wrong = (said.owned & known.bare) | (said.bare & known.owned)
    return f"which one: {_names(wrong)} or somebody's" if wrong else None


def _called(said: Meaning, known: Meaning, language: Language) -> str | None:
    wrong = ((said.inflected & known.bare) | (said.bare & known.inflected)) - language.movable
    return f"name: {_names(wrong)} with and without its ending" if wrong else None


def _order(said: Meaning, known: Meaning, language: Language) -> str | None:
    """What may move, as "tomorrow" may, must still keep its place among its like: "from Monday to Tuesday"."""
    for moves in (True, False):
        one, two = (
            [term for term in each.terms if (term in language.movable) == moves and term != "1"]
            for each in (said, known)
        )
        if one != two:
            return "order: the same words, but not in the same places"
    return None


def _names(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))
