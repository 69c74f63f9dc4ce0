"""The memory of a summary repeats no other memory of the session."""

from datetime import date

from compaction.services.pipeline.stored_once import text_without_stored
from compaction.services.pipeline.stored_statements import CitedStatement

DAY = date(2026, 5, 8)
ALLERGY, TENT = "Ann: I am allergic to peanuts.", "Ann: The tent is in the cellar."
STATEMENTS = [CitedStatement(text, ("m1",), "fact", "Ann", DAY) for text in (ALLERGY, TENT)]
SUMMARY = "8 May 2026: Ann: I am allergic to peanuts. The tent is in the cellar."


def test_statement_with_a_memory_of_its_own_is_left_out() -> None:
    assert text_without_stored(SUMMARY, STATEMENTS, [ALLERGY]) == "8 May 2026: Ann: The tent is in the cellar."


def test_other_marks_and_case_are_the_same_statement_and_other_facts_are_not() -> None:
    assert "peanuts" not in text_without_stored(SUMMARY, STATEMENTS, ["Ann: I am allergic to peanuts!"])
    assert text_without_stored(SUMMARY, STATEMENTS, ["Ann: I am not allergic to peanuts."]) == SUMMARY


def test_summary_without_stored_statements_stays_as_it_is() -> None:
    assert text_without_stored("As it was shown.", STATEMENTS, []) == "As it was shown."


def test_nothing_is_left_where_every_statement_is_stored() -> None:
    assert text_without_stored(SUMMARY, STATEMENTS, [ALLERGY, TENT]) == ""
