"""The parts of a query: names, attribute words, its language, and the form that an answer to it has.

English, German and Spanish are known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from context.services.assembly.superseded.statements import STOP_WORDS

#: Texts whose language is remembered.
TEXTS_CACHED = 8_192

_WORD = re.compile(r"[^\W_]+(?:[-:.][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DIGIT = re.compile(r"\d")
_CONJUNCTION = re.compile(r"\b(?:and|both|und|y)\b")

_MONTHS = "january february march april may june july august september october november december"
_FOREIGN_MONTHS = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lunes martes miércoles jueves viernes sábado domingo",
)
_SEASONS = "spring summer autumn winter"
#: Words that say when, and words that only ask.
_TIME_WORDS = "day days night week month weekend morning evening year today now currently current still ever new"
_ASKING_WORDS = (
    "what which who whom whose when where why how does did do is are was were much many often long old",
    "tell think say said know need should may might go goes going get gets got take takes use uses used using",
    "any us our mine own thing things kind type name called happen happened",
    "wie viele welche welcher welches was wer wann wo heißt wieviel cuál cómo qué quién cuándo dónde cuánto",
)
_SKIPPED = STOP_WORDS | frozenset(
    word for text in (_MONTHS, *_FOREIGN_MONTHS, *_DAYS, _SEASONS, _TIME_WORDS, *_ASKING_WORDS) for word in text.split()
)
#: Frequent words of each language.
_LANGUAGES = tuple(
    frozenset(text.split())
    for text in (
        "the of is are to in and for on with at from it that this was has not what which who when where how does did",
        "der die das und ist nicht mit für ein eine den dem im von zu auf hat wir sich auch noch wer wie wann wo",
        "el la los las de que y en un una por con para no es se del al lo su qué cuál cómo quién cuándo cuánto dónde",
    )
)


def _any_of(*texts: str) -> str:
    return "|".join(word for text in texts for word in text.split())


_DATED = re.compile(rf"\b(?:(?:19|20)\d\d|(?:in|since|until|before) (?:{_any_of(_MONTHS)}))\b", re.IGNORECASE)
_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve dozen once twice hundred thousand few",
    "twenty thirty forty fifty sixty seventy eighty ninety half every daily weekly monthly yearly",
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dos tres cuatro cinco seis siete ocho nueve diez",
)
_DATE = re.compile(
    r"\b\d{1,2}[:.]\d\d\b|\b(?:19|20)\d\d\b|\b\d{1,2} ?(?:am|pm|uhr)\b|"
    rf"\b(?:{_any_of(_MONTHS, *_FOREIGN_MONTHS, *_DAYS, _SEASONS)}|today|tomorrow|yesterday|noon|midnight)s?\b|"
    r"\b(?:morning|afternoon|evening|night)s?\b|"
    rf"\b(?:at|by|until|from|um|ab|bis|a las?) (?:{_any_of(*_NUMBER_WORDS)})\b",
    re.IGNORECASE,
)
_DAY_OF_MONTH = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of| de)? (?:{_any_of(_MONTHS, *_FOREIGN_MONTHS)})\b|"
    rf"\b(?:{_any_of(_MONTHS)}) \d{{1,2}}\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"\d|\b(?:{_any_of(*_NUMBER_WORDS)})\b", re.IGNORECASE)
_SPAN = re.compile(
    rf"{_DATE.pattern}|\b(?:second|minute|hour|day|week|month|year|stunde|tag|woche|monat|jahr|minuto|hora|día|semana|mes|año)"
    r"(?:s|n|e|en|es)?\b|\d ?(?:h|min|s)\b",
    re.IGNORECASE,
)
#: What a query asks for, and the form that its answer contains; the first that a query meets counts.
_ANSWER_FORMS = tuple(
    (re.compile(asks, re.IGNORECASE), form)
    for asks, form in (
        (
            r"\b(?:(?:phone|telephone|mobile|fax) number|telefonnummer|número de teléfono)\b",
            re.compile(r"\d[\d /-]{4,}\d"),
        ),
        (r"\be-?mail address\b", re.compile("@")),
        (r"\b(?:number|extension|serial|registration|licen[sc]e plate|code|pin|kennzeichen|matrícula|nif)\b", _DIGIT),
        (r"\b(?:birthday|date of birth|geburtstag|cumpleaños)\b", _DAY_OF_MONTH),
        (r"^(?:when|wann|¿?cuándo)\b|\b(?:what|which|due) (?:date|day|month|year|time)\b", _DATE),
        (r"\bhow (?:long|old)\b|\bwie (?:lange|alt)\b", _SPAN),
        (
            r"\bhow (?:much|many|often|tall|far|fast|heavy|big|large|high|wide|deep|hot|cold|warm)\b|"
            r"\bwie (?:viele?|oft|groß|hoch|schnell|schwer)\b|\bcuánt|"
            r"\b(?:price|cost|weight|temperature|dilution|discount|rate|speed|length|salary|rent|strength|budget|fee|"
            r"limit)\b",
            _NUMBER,
        ),
    )
)


@dataclass(frozen=True)
class QueryParts:
    """What a query is about, in lower case and without words of grammar, of times and that only ask.

    `names` begin with a capital inside the query or mix letters and digits; `attributes` are the other words.
    `answer_form` is in every text that can answer it, None if any text can. `is_composite`: it may ask for several
    things, or names a time.
    """

    names: Sequence[str]
    attributes: Sequence[str]
    answer_form: re.Pattern[str] | None
    is_composite: bool


def read_query(text: str) -> QueryParts:
    """Return the parts of a query."""
    names: dict[str, None] = {}
    attributes: dict[str, None] = {}
    for place, word in enumerate(words_in(text)):
        lower = word.lower()
        if len(word) > 1 and lower not in _SKIPPED and not _YEAR.fullmatch(word):
            is_name = (place > 0 and word[0].isupper()) or _is_identifier(word)
            (names if is_name else attributes)[lower] = None
    form = next((form for asks, form in _ANSWER_FORMS if asks.search(text)), None)
    is_composite = _CONJUNCTION.search(text) is not None or _DATED.search(text) is not None
    return QueryParts(list(names), list(attributes), form, is_composite)


def _is_identifier(word: str) -> bool:
    """Whether it mixes letters and digits."""
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def words_in(text: str) -> list[str]:
    """Return the words of a text, identifiers whole, without "'s"."""
    return _WORD.findall(_POSSESSIVE.sub("", text))


@lru_cache(TEXTS_CACHED)
def language_of(text: str) -> int | None:
    """Return the number of the language of which a text contains the most frequent words; None if it contains none."""
    words = text.lower().split()
    counts = [sum(word.strip("¿?.,;:!") in known for word in words) for known in _LANGUAGES]
    return counts.index(max(counts)) if any(counts) else None
