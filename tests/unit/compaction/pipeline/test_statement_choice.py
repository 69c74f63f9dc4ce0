"""Choosing statements under a token budget."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import (
    Statement,
    StatementKind,
    StatementMessage,
    StatementPart,
    render_statements,
)
from compaction.services.pipeline.statements.selection import choose_statements
from memories.services.tokens import count_tokens

SAID_AT = datetime(2023, 5, 8, tzinfo=UTC)
CONVERSATION = [
    StatementMessage(
        "m1", "user", "Hey Ben! I adopted a beagle called Luna yesterday. It was a lovely day.", "Ann", SAID_AT, 1
    ),
    StatementMessage(
        "m2",
        "user",
        "Nice! I moved to Gothenburg in 2019, because my wife works at the Volvo plant.",
        "Ben",
        SAID_AT,
        2,
    ),
    StatementMessage(
        "m3", "user", "I will run the Stockholm marathon next month. The weather is good.", "Ann", SAID_AT, 3
    ),
    StatementMessage("m4", "user", "I prefer swimming. I prefer swimming in cold lakes.", "Ben", SAID_AT, 4),
]


def words(text):
    return len(text.split())


def chosen(budget, count=count_tokens, messages=CONVERSATION):
    return choose_statements(extract_statements(messages), token_budget=budget, count_tokens=count)


def statement(body, weights, *, message_id="m", factor=1.0):
    return Statement("Ann", "Ann", (StatementPart(body, weights),), (message_id,), StatementKind.FACT, factor=factor)


@pytest.mark.parametrize("budget", [0, 1, 5, 12, 25, 40, 80, 400])
def test_the_rendered_summary_fits_the_budget(budget):
    assert count_tokens(render_statements(chosen(budget))) <= budget


def test_statements_stay_in_order():
    ids = [made.message_ids[-1] for made in chosen(80)]
    assert ids == sorted(ids)


def test_what_is_rare_goes_before_small_talk():
    text = render_statements(chosen(45))
    assert "Luna" in text
    assert "Gothenburg" in text
    assert "weather" not in text


def test_words_already_said_are_worth_nothing():
    repeated = [
        statement("prefers swimming", {"swimming": 2.0}, message_id="a"),
        statement("prefers swimming", {"swimming": 2.0}),
    ]
    assert [made.message_ids for made in choose_statements(repeated, token_budget=99, count_tokens=words)] == [("a",)]


def test_the_end_of_a_statement_is_left_off_to_fit():
    long = Statement(
        "Ann",
        "Ann",
        (StatementPart("swims", {"swims": 2.0}), StatementPart("in very many cold lakes", {"lakes": 1.0})),
        ("m",),
        StatementKind.FACT,
    )
    assert [made.text for made in choose_statements([long], token_budget=5, count_tokens=words)] == ["Ann swims"]
    assert [made.text for made in choose_statements([long], token_budget=50, count_tokens=words)] == [
        "Ann swims in very many cold lakes"
    ]


def test_one_statement_too_long_does_not_stop_the_others():
    statements = [statement("very " * 30 + "rare", {"rare": 90.0}), statement("swims", {"swims": 1.0})]
    assert [made.text for made in choose_statements(statements, token_budget=8, count_tokens=words)] == ["Ann swims"]


def test_the_factor_weighs_statements_against_each_other():
    statements = [statement("swims daily", {"swims": 1.0}), statement("runs daily", {"runs": 1.0}, factor=2.0)]
    assert [made.text for made in choose_statements(statements, token_budget=5, count_tokens=words)] == [
        "Ann runs daily"
    ]


def test_the_same_statements_give_the_same_choice():
    assert chosen(60) == chosen(60)


def test_no_statements_give_an_empty_summary():
    assert choose_statements([], token_budget=100, count_tokens=words) == []
    assert render_statements([]) == ""


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.text("abc ", min_size=1, max_size=20), st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 9))
            ),
            min_size=1,
            max_size=4,
        ),
        max_size=12,
    ),
    st.integers(0, 60),
)
@settings(max_examples=60, deadline=None)
def test_any_choice_fits_and_keeps_the_first_parts_in_order(rows, budget):
    statements = [
        Statement(
            "Ann",
            f"Ann{n}",
            tuple(StatementPart(text, weights) for text, weights in row),
            (str(n),),
            StatementKind.FACT,
        )
        for n, row in enumerate(rows)
    ]
    answer = choose_statements(statements, token_budget=budget, count_tokens=len)
    assert len(render_statements(answer)) <= budget or not answer
    numbers = [int(made.message_ids[0]) for made in answer]
    assert numbers == sorted(set(numbers))
    assert all(made.parts == statements[n].parts[: len(made.parts)] for n, made in zip(numbers, answer, strict=True))
