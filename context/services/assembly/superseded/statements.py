"""The features of statements for comparisons: word beginnings, values, words of change, and the announced time."""

import re
from typing import NamedTuple

from context.services.assembly.superseded.announced_time import AnnouncedTime, announced_time
from context.services.assembly.superseded.number_words import numbers_in
from memories.services.text_cache import cached_texts

#: The number of cached texts, and the number of first letters that represent a word.
TEXTS_CACHED, STEM_LETTERS = 2_048, 5

_WORD = re.compile(r"[^\W\d_]{2,}")
#: The currency before a number, or the unit after it.
_UNIT = re.compile(r"([£$€])?\s?\d+(?:[.,:/]\d+)*\s?(%|°|[^\W\d_]{1,8})?")
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;:)\"'] )[A-ZÀ-Þ][^\W\d_]+")
_IDENTIFIER = re.compile(r"(?<!\w)(?=[\w-]{0,64}[^\W\d_])(?=[\w-]{0,64}\d)\w+(?:-\w+)+|\b[^\W\d_]+\d+\b")
_NONE: frozenset[str] = frozenset()
#: Words that do not describe the subject of a statement, in English, German and Spanish.
_STOP_WORD_TEXTS = (
    "the an of in on at to for and or is are was were be been has have had do does did it its this that these those",
    "with by from as we you he she they my our your his her their me us him them not no so if but will would can could",
    "there here now than then all one also just about into over out up down off only very more most some any",
    "each every who what which when where how why",
    "der die das ein eine ist sind und oder im mit von zu den dem des auf für nicht wir ich sie er es",
    "el la los las un una de en que con por para se su al del lo",
)
_STOP_WORDS = frozenset(word for text in _STOP_WORD_TEXTS for word in text.split())
_CHANGES = (
    "now|nowadays|from now on|no longer|any ?more|instead|in (?:his|her|its|their) place|moved?|moves|changed?|changes|"
    r"switch(?:ed)?|swapped|replac\w+|new|since|as of|starting|back|again|takes? over|taken over|took over|"
    "left|gone|raised?|rises?|lowered|cut|up to|down to|went|goes|becomes?|became|until|till|rather than|used to|"
    "previously|updated?|postponed|brought forward|correction|actually|has to|gave up|stopped|quit|dropped|handed|"
    "settled|renamed|bought|sold",
    r"from (?:today|tomorrow|next|this|the|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    "january|february|march|april|may|june|july|august|september|october|november|december)",
    "jetzt|seit|statt|nicht mehr|künftig|neue[rnms]?|verschiebt|verschoben|umgezogen|bisher|wieder",
    r"ab (?:sofort|heute|morgen|montag|\d|"
    "januar|februar|m[aä]rz|april|mai|juni|juli|august|september|oktober|november|dezember)",
    r"ahora|desde|ya no|en vez de|nuev[oa]s?|a partir de|pasa a|cambi\w+|prolongado",
)
#: Words for a return to an earlier value, or for the end of one.
_REVERSAL = re.compile(
    r"\b(?:back|again|return(?:s|ed|ing)?|once more|instead|rather than|no longer|any ?more|off|cancelled|out|"
    r"wieder|zurück|statt|nicht mehr|vuelve|otra vez|de nuevo|ya no)\b"
)
#: Words for the withdrawal of an announced change.
_WITHDRAWAL = re.compile(
    r"\b(?:cancelled|called off|withdrawn|stays?|remains?|postponed|abgesagt|bleibt|bleiben|verschoben|"
    r"cancelad[oa]s?|anulad[oa]s?|se anula|sigue|siguen|se queda)\b"
)
_CHANGE = re.compile(rf"\b(?:{'|'.join(_CHANGES)})\b")


class Statement(NamedTuple):
    """The compared features of a text; `names` are capitalised words inside a sentence, in lower case.

    `numbers` are in digits, `units` the words and signs next to them; `announced` is the time when it comes into force.
    """

    words: frozenset[str]
    names: frozenset[str]
    stems: frozenset[str]
    numbers: frozenset[str]
    units: frozenset[str]
    identifiers: frozenset[str]
    has_change: bool
    has_reversal: bool
    has_withdrawal: bool
    announced: AnnouncedTime | None


@cached_texts(TEXTS_CACHED)
def read_statement(text: str) -> Statement:
    """Return the compared features of a text."""
    # in lower case, because a search that ignores case takes three times as long
    lower = text.lower()
    words = _WORD.findall(lower)
    has_digit = _DIGIT.search(text) is not None
    return Statement(
        frozenset(words),
        frozenset(name.lower() for name in _NAME.findall(text)),
        frozenset(word[:STEM_LETTERS] for word in words if word not in _STOP_WORDS),
        numbers_in(text),
        frozenset(before or after.lower() for before, after in _UNIT.findall(text) if before or after)
        if has_digit
        else _NONE,
        frozenset(_IDENTIFIER.findall(lower)) if has_digit else _NONE,
        _CHANGE.search(lower) is not None,
        _REVERSAL.search(lower) is not None,
        _WITHDRAWAL.search(lower) is not None,
        announced_time(text),
    )
