"""Relative dates in statements."""

from datetime import date

import pytest

from compaction.services.pipeline.statements.dates import GLUE, RESOLVED_DATE, date_text, resolve_dates

FRIDAY = date(2023, 6, 9)


@pytest.mark.parametrize(
    ("said", "resolved"),
    [
        ("yesterday", "(8 June 2023)"),
        ("last night", "(8 June 2023)"),
        ("yesterday morning", "(8 June 2023)"),
        ("the day before yesterday", "(7 June 2023)"),
        ("tomorrow", "(10 June 2023)"),
        ("today", "(9 June 2023)"),
        ("this morning", "(9 June 2023)"),
        ("last week", "(week before 9 June 2023)"),
        ("over the last weekend", "(weekend before 9 June 2023)"),
        ("next week", "(week after 9 June 2023)"),
        ("this weekend", "(weekend of 9 June 2023)"),
        ("last Fri", "(Friday before 9 June 2023)"),
        ("last thurs", "(Thursday before 9 June 2023)"),
        ("next Monday", "(Monday after 9 June 2023)"),
        ("last summer", "(summer before 9 June 2023)"),
        ("last month", "(May 2023)"),
        ("this month", "(June 2023)"),
        ("next month", "(July 2023)"),
        ("last year", "(2022)"),
        ("next year", "(2024)"),
        ("three days ago", "(6 June 2023)"),
        ("a week ago", "(week before 9 June 2023)"),
        ("two weekends ago", "(two weekends before 9 June 2023)"),
        ("8 months ago", "(October 2022)"),
        ("a couple of weeks ago", "(couple weeks before 9 June 2023)"),
        ("a few days back", "(few days before 9 June 2023)"),
        ("five years ago", "five years ago (2018)"),
    ],
)
def test_relative_dates_become_absolute(said, resolved):
    answer = resolve_dates(f"I ran {said}.", FRIDAY).replace(GLUE, " ")
    assert answer == f"I ran {resolved}."
    assert RESOLVED_DATE.search(answer)


@pytest.mark.parametrize(
    "said", ["yesterday's news", "this is fun", "the last one", "a day off", "next to me", "long ago"]
)
def test_other_words_stay(said):
    assert resolve_dates(said, FRIDAY) == said


def test_nothing_is_resolved_without_a_day():
    assert resolve_dates("I ran yesterday.", None) == "I ran yesterday."


def test_a_day_before_the_first_one_stays_relative():
    assert resolve_dates("I ran yesterday.", date(1, 1, 1)) == "I ran yesterday."


def test_dates_are_written_without_leading_zeros():
    assert date_text(FRIDAY) == "9 June 2023"
