"""Which statements fit a budget."""

from datetime import date

import pytest

from compaction.services.pipeline.statements.model import (
    Statement,
    StatementKind,
    drop_repeated_day,
    render_statements,
)
from compaction.services.pipeline.statements.rarity import content_words, word_weights
from compaction.services.pipeline.statements.selection import choose_statements
from memories.services.tokens import count_tokens

DAY = date(2026, 5, 7)


def statement(text: str, kind: str = "fact", **more: object) -> Statement:
    return Statement(f"Ann: {text}", (text[:8],), StatementKind(kind), "Ann", DAY, **more)  # type: ignore[arg-type]


def chosen(statements: list[Statement], budget: int) -> list[str]:
    picked = choose_statements(statements, token_budget=budget, count_tokens=count_tokens)
    assert count_tokens(render_statements(picked)) <= budget
    return [one.body for one in picked]


def test_decision_comes_before_a_fact_full_of_names_and_the_order_is_that_of_the_conversation() -> None:
    fact = statement("Zoltan Wexler drove to Szeged, Pécs and Győr in 1987.")
    allergy = statement("I am allergic to penicillin.", "constraint")
    decision = statement("We rent the blue van.", "decision")
    assert chosen([fact, allergy, decision], 30) == [allergy.body, decision.body]
    assert chosen([fact, allergy, decision], 18) == [decision.body]
    assert chosen([fact, allergy, decision], 100) == [fact.body, allergy.body, decision.body]


def test_worth_decides_first_and_rare_words_between_equals() -> None:
    plain = statement("The man was in the big old house again, all day.")
    rare = statement("The heron was in Szeged in 1987.")
    assert count_tokens(plain.body) == count_tokens(rare.body)
    assert chosen([plain, rare], 24) == [rare.body]
    likely = statement("The man was in the house today.", worth=0.9)
    unlikely = statement("The botanist was in Szeged in 1987.", worth=0.3)
    assert chosen([likely, unlikely], 24) == [likely.body]


def test_short_statement_does_not_come_before_a_longer_one_of_higher_worth() -> None:
    short = statement("Not the blue one.", worth=0.5)
    long = statement("We rent the van of the agency in Leeds from Monday to Friday for 420 euros.", worth=0.7)
    assert chosen([short, long], 30) == [long.body]


def test_repeated_statement_is_chosen_once() -> None:
    first = statement("The visit of the engineer is on Tuesday 21 April.", "decision")
    again = statement("So the visit of the engineer is on Tuesday 21 April.", "decision")
    assert len(chosen([first, again], 200)) == 1


def test_text_of_a_person_is_always_chosen_first() -> None:
    own = statement("It rained.", is_edited=True)
    assert chosen([statement("We rent the blue van.", "decision"), own], 14) == [own.body]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I ran yesterday (6 May 2026).", "I ran yesterday (6 May)."),
        ("I run today (7 May 2026).", "I run today."),
        ("Corro mañana (8 de mayo de 2026).", "Corro mañana (8 de mayo)."),
        ("I ran last week (week before 7 May 2026).", "I ran last week (week before)."),
        ("I ran in May.", "I ran in May."),
    ],
)
def test_heading_of_a_day_saves_its_repetition(text: str, shown: str) -> None:
    assert drop_repeated_day(text, DAY) == shown
    assert drop_repeated_day(text, None) == text


def test_statements_without_a_day_or_speaker_are_rendered_as_they_are() -> None:
    plain = [Statement("The pump is broken", ("a",)), Statement("我不吃鸡蛋。", ("b",))]
    assert render_statements(plain) == "The pump is broken. 我不吃鸡蛋。"
    assert render_statements([]) == ""


def test_content_words_carry_meaning_in_every_script() -> None:
    assert content_words("The visit is at 17:30 in Ann's house") == ["visit", "17:30", "ann", "house"]
    assert content_words("我对青霉素过敏") == ["我对", "青霉", "素过", "敏"]
    weights = word_weights("the house of Wexler in 1987")
    assert weights["1987"] > weights["house"]
    assert weights["wexle"] > weights["house"]
