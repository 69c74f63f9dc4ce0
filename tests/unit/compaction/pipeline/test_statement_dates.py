"""Relative dates, followed by the absolute date, in three languages."""

from datetime import date

import pytest

from compaction.services.pipeline.statements.dates import date_text, resolve_dates
from compaction.services.pipeline.statements.languages import load_language

STATED = date(2026, 5, 7)


@pytest.mark.parametrize(
    ("language", "text", "resolved"),
    [
        ("en", "See you tomorrow.", "See you tomorrow (8 May 2026)."),
        ("en", "Tomorrow morning we start.", "Tomorrow morning (8 May 2026) we start."),
        ("en", "the day after tomorrow at 5", "the day after tomorrow (9 May 2026) at 5"),
        ("en", "I ran last night", "I ran last night (6 May 2026)"),
        ("en", "it came two weeks ago", "it came two weeks ago (23 April 2026)"),
        ("en", "in 3 days", "in 3 days (10 May 2026)"),
        ("en", "two weeks ago from Leeds", "two weeks ago (23 April 2026) from Leeds"),
        ("en", "in 3 days after the delivery", "in 3 days after the delivery"),
        ("en", "last month and next year", "last month (April 2026) and next year (2027)"),
        ("en", "last week", "last week (week before 7 May 2026)"),
        ("en", "last Friday", "last Friday (Friday before 7 May 2026)"),
        ("en", "ten years ago", "ten years ago (2016)"),
        ("en", "yesterday's news, tomorrow (8 May 2026)", "yesterday's news, tomorrow (8 May 2026)"),
        ("de", "Ich komme morgen.", "Ich komme morgen (8. Mai 2026)."),
        ("de", "Am Morgen ist es kühl.", "Am Morgen ist es kühl."),
        ("de", "Übermorgen passt es.", "Übermorgen (9. Mai 2026) passt es."),
        ("de", "Das war gestern Abend.", "Das war gestern Abend (6. Mai 2026)."),
        ("de", "vor zwei Wochen", "vor zwei Wochen (23. April 2026)"),
        ("de", "vor zwei Wochen nach Berlin", "vor zwei Wochen (23. April 2026) nach Berlin"),
        ("de", "in zwei Wochen nach der Abholung", "in zwei Wochen nach der Abholung"),
        ("es", "Llega mañana.", "Llega mañana (8 de mayo de 2026)."),
        ("es", "Por la mañana hace frío.", "Por la mañana hace frío."),
        ("es", "hace tres días", "hace tres días (4 de mayo de 2026)"),
        ("es", "hace tres días desde Madrid", "hace tres días (4 de mayo de 2026) desde Madrid"),
        ("fr", "Je viens demain.", "Je viens demain."),
    ],
)
def test_date_follows_the_words_that_refer_to_it(language: str, text: str, resolved: str) -> None:
    assert resolve_dates(text, STATED, load_language(language)) == resolved


def test_unknown_day_and_impossible_dates_leave_the_text_as_it_is() -> None:
    english = load_language("en")
    assert resolve_dates("tomorrow", None, english) == "tomorrow"
    assert resolve_dates("yesterday", date.min, english) == "yesterday"


def test_date_text_is_day_month_year() -> None:
    assert date_text(date(2023, 5, 7)) == "7 May 2023"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "I'll send it on Friday.", "I'll send it on Friday (8 May 2026)."),
        ("de", "Ich komme am Montag.", "Ich komme am Montag (11. Mai 2026)."),
        ("es", "Vengo el viernes.", "Vengo el viernes (8 de mayo de 2026)."),
        ("en", "We met on Friday.", "We met on Friday."),
        ("en", "Never deploy on Friday.", "Never deploy on Friday."),
        ("en", "The party is on Friday 12 June.", "The party is on Friday 12 June."),
        ("en", "It ends on Thursday.", "It ends on Thursday."),
    ],
)
def test_weekday_ahead_has_its_date_and_a_past_repeated_or_unclear_one_none(
    language: str, text: str, expected: str
) -> None:
    assert resolve_dates(text, date(2026, 5, 7), load_language(language)) == expected
