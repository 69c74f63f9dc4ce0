"""Which of several versions of a fact is true at the time that a query is about.

A query is about the present, a named time, the time before an event ("before Brent took over"), the state before the
current one ("previously") or the first one ("originally"). Past tense alone ("Who signed?") does not make it a query
about an earlier state. English, German and Spanish are supported.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals.columns import CandidatePool, Places
from context.services.assembly.signals.temporal_match import MONTHS, QuestionTime, TimeSpan, named_time_spans
from context.services.assembly.superseded.statements import Statement, read_statement
from context.services.scorer import ScoreColumn

#: Longer than the time between any two memories.
_EVER_SECONDS = 1e12
#: Less than 20 minutes for each 30 years between two memories.
_LATER_STORED = 1e-6
#: What makes the validity of a memory lower than any other.
LAST_SECONDS = 3.0 * _EVER_SECONDS
#: ADR-0329. The share of the best relevance that a memory needs to be the event of "before X", and the share of the
#: words of X that it contains at least.
_EVENT_RELEVANCE_MIN, _EVENT_WORDS_MIN = 0.6, 0.5

#: Words of the past. At the beginning, "Was" may be the German "what".
_PAST = re.compile(
    r"\b(?:were|did|had|used to)\b|(?<!^)\bwas\b|^[Ww]as (?:the|it|there|he|she|my|our|your|a|an|this|that)\b|"
    # not the present passive: "Which orders are shipped first?"
    r"^(?!.*\b(?:is|are|be|gets?|do|does|can|will|must|should|has|have)\b)(?:Who|What|Which(?: \w+){1,3}) "
    r"(?:(?!\w*eed\b|shed\b|sled\b|embed\b|hundred\b)\w{2,}ed|"
    r"led|ran|kept|held|paid|made|got|sold|drove|taught|gave|built)\b|"
    r"\b(?:war|waren|hatten?|wurden?|galten?|galt|hieß|(?:arbeit|bedeut|kost|laut|leit|miet|öffn|rechn|start|wart)eten?|"
    r"(?:zahl|leb|wohn|liefer|mach|brauch|dauer|gehör)ten?|era|eran|fue|fueron|"
    r"(?:cerr|cobr|compr|cost|d|dej|entreg|est|funcion|guard|jug|llam|llev|mand|necesit|pag|qued|termin|trabaj|us)aban?|"
    r"(?:abr|cubr|deb|dec|hab|hac|le|ofrec|ped|pod|pon|quer|sab|sal|segu|serv|ten|vend|ven|viv)ían?)\b"
)
#: Words for the first state; "first" only together with words of the past.
_FIRST = (
    r"original(?:ly)?|at first|initial(?:ly)?|in the beginning|at the start|ursprünglich\w*|anfangs|"
    "originalmente|al principio|inicialmente"
)
#: Words for the state before the current one.
_FORMER = r"used? to|previous(?:ly)?|former(?:ly)?|in the past|back then|früher\w*|zuvor|damals|vorher|anteriormente"
#: Words that mean it only together with words of the past: "the old bridge" may still exist.
_FORMER_IF_PAST = rf"{_FORMER}|before|earlier|old|until|bisher\w*|antes"
_IS_FIRST, _IS_FIRST_IF_PAST, _IS_FORMER, _IS_FORMER_IF_PAST = (
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for words in (_FIRST, rf"{_FIRST}|first|zuerst", _FORMER, _FORMER_IF_PAST)
)
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\bas of\b")
_UP_TO = re.compile(
    r"\b(?:before|until|prior to|bis|bevor|vor|antes del?(?: que)?|hasta(?: que)?)\b(?P<event>.*)", re.IGNORECASE
)

_GERMAN_AND_SPANISH = (
    ("januar", "februar", "märz", "april", "mai", "juni", "juli"),
    ("august", "september", "oktober", "november", "dezember"),
    ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio"),
    ("agosto", "septiembre", "octubre", "noviembre", "diciembre"),
)
_SEASONS = {
    "frühling": "spring",
    "frühjahr": "spring",
    "sommer": "summer",
    "herbst": "autumn",
    "primavera": "spring",
    "verano": "summer",
    "otoño": "autumn",
    "invierno": "winter",
}
#: Months and seasons in English, by their German and Spanish names.
_ENGLISH = {
    **dict(zip(_GERMAN_AND_SPANISH[0] + _GERMAN_AND_SPANISH[1], MONTHS, strict=True)),
    **dict(zip(_GERMAN_AND_SPANISH[2] + _GERMAN_AND_SPANISH[3], MONTHS, strict=True)),
    **_SEASONS,
}
_FOREIGN_TIME = re.compile(rf"\b({'|'.join(_ENGLISH)})\b(?: de(?= \d))?", re.IGNORECASE)


class QueriedTime(NamedTuple):
    """The versions in the order of the query: `validity` is larger for a memory that is more likely true then.

    With `is_former`, the query is about the state before the current one, whatever it is.
    """

    validity: ScoreColumn
    is_former: bool = False


def queried_time(
    pool: CandidatePool, places: Places, statements: Sequence[Statement], starts: ScoreColumn
) -> QueriedTime:
    """Return how likely each of these candidates is true at the queried time, if all state one fact.

    At a time: the statement that came into force last before it; then what was announced by then for later, the newest
    first; then what came later, soonest first. For the first state: the oldest. `starts` are those of `start_times`.
    """
    text, created = pool.question.text, pool.created[places]
    is_past = _PAST.search(text) is not None
    up_to = _UP_TO.search(text)
    span = _queried_span(pool, is_past=is_past)
    if span:
        return QueriedTime(_validity_at((span.start if up_to else span.end).timestamp(), created, starts))
    if (_IS_FIRST_IF_PAST if is_past else _IS_FIRST).search(text):
        return QueriedTime(-created)
    if is_past and up_to:
        event = _event_time(up_to["event"], statements, starts, pool.strength[places])
        if event is not None:
            return QueriedTime(_validity_at(event, created, starts))
    is_former = (_IS_FORMER_IF_PAST if is_past else _IS_FORMER).search(text) is not None
    # a memory of the same moment counts as known
    asked_at = np.nextafter(pool.question.asked_at.timestamp(), np.inf)
    return QueriedTime(_validity_at(asked_at, created, starts), is_former)


def _validity_at(at: float, created: ScoreColumn, starts: ScoreColumn) -> ScoreColumn:
    # of two with the same start, such as an announcement and its correction, the one stored later holds
    begun = starts + _LATER_STORED * created
    return np.where(starts < at, begun, np.where(created < at, created - _EVER_SECONDS, -created - 2.0 * _EVER_SECONDS))


def start_times(created: ScoreColumn, statements: Sequence[Statement]) -> ScoreColumn:
    """Return when each statement comes into force, in seconds since 1970: when stored, or later if it says so."""
    starts = created.copy()
    for place, one in enumerate(statements):
        if one.announced and np.isfinite(created[place]):
            at = one.announced.starts_at(datetime.fromtimestamp(created[place], UTC))
            starts[place] = max(created[place], at.timestamp())
    return starts


def _event_time(
    event: str, statements: Sequence[Statement], starts: ScoreColumn, relevance: ScoreColumn
) -> float | None:
    """Return when the event of "before X" came into force: the first relevant statement with most words of X."""
    named = read_statement(event)
    words = named.stems | named.numbers
    shares = np.array([len(words & (one.stems | one.numbers)) for one in statements]) / max(len(words), 1)
    most = shares.max(initial=0.0)
    if most < _EVENT_WORDS_MIN:
        return None
    is_event: npt.NDArray[np.bool_] = shares == most
    is_event &= relevance >= _EVENT_RELEVANCE_MIN * relevance[is_event].max()
    return float(starts[is_event].min())


def _queried_span(pool: CandidatePool, *, is_past: bool) -> TimeSpan | None:
    """Return the time that the query names, in the latest year in which it has begun; None without one.

    Only a query in the past tense or with a year is about a time that has begun. Otherwise, it is the next one.
    """
    asked_at = pool.question.asked_at
    text = _FOREIGN_TIME.sub(lambda match: _ENGLISH[match[1].lower()].capitalize(), pool.question.text)
    years = sorted({*pool.years, asked_at.year, asked_at.year + 1})
    spans = named_time_spans(text, QuestionTime(asked_at, years))
    begun = [span for span in spans if span.start <= asked_at]
    if begun and (is_past or _DATED.search(pool.question.text)):
        return max(span for span in begun if _day_of_year(span) == _day_of_year(begun[0]))
    return min((span for span in spans if span.start > asked_at), default=None)


def _day_of_year(span: TimeSpan) -> tuple[int, int]:
    return span.start.month, span.start.day
