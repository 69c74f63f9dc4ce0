"""The retrieval plan is described without identifiers of the search code."""

import pytest

from context.services.workbench.plan_text import SEARCH_PLAN_REASONS, PlanLine, plan_lines, step_label
from memories.services.search.planner import SearchPlanReason

HYBRID = {
    "mode": "hybrid",
    "embed": {"model": "wordllama-l2-supercat-256"},
    "vector": {"search": "exact", "rows": 1054},
    "lexical": {"lexemes": 1, "rows": 20},
    "pinned": {"rows": 1},
    "read": {"rows": 8},
    "fused_rows": 1054,
    "gated_rows": 8,
}


def test_hybrid_search_is_reported_step_by_step() -> None:
    assert plan_lines(HYBRID) == [
        PlanLine("Searched", "vector and lexical"),
        PlanLine("Embedding model", "wordllama-l2-supercat-256"),
        PlanLine("Vector candidates", "1,054 memories, exact search"),
        PlanLine("Lexical candidates", "20 memories, by 1 word stem"),
        PlanLine("Pinned", "1 memory"),
        PlanLine("All candidates", "1,054 memories"),
        PlanLine("Considered", "8 memories; best by rank"),
        PlanLine("Read", "8 memories"),
    ]


def test_reason_of_a_search_and_size_of_a_pool_are_given_in_words() -> None:
    plan = {
        "mode": "hybrid",
        "vector": {"search": "exact", "reason": "few_rows", "limit": 1000, "rows_in_scope": 419, "rows": 419},
        "beside": {"reach": 2, "rows": 121},
        "vectors": {"rows": 321},
    }
    assert plan_lines(plan)[1:] == [
        PlanLine("Vector candidates", "419 memories, exact search: the scope is small"),
        PlanLine("Adjacent turns", "121 memories, up to 2 messages away"),
        PlanLine("Vectors read", "of 321 memories"),
    ]
    assert (step_label("beside"), step_label("vectors")) == ("Read adjacent turns", "Read vectors")


def test_every_reason_of_a_search_has_words() -> None:
    assert set(SEARCH_PLAN_REASONS) == {reason.value for reason in SearchPlanReason}


def test_order_does_not_hang_on_how_the_plan_was_kept() -> None:
    assert plan_lines(dict(sorted(HYBRID.items()))) == plan_lines(HYBRID)


@pytest.mark.parametrize("word", ["lexeme", "gated", "fused", "rows"])
def test_no_word_of_the_code_is_left(word: str) -> None:
    assert not any(word in f"{fact.name} {fact.text}".lower() for fact in plan_lines(HYBRID))


def test_failures_are_reported() -> None:
    assert PlanLine("Embedding model", "did not answer") in plan_lines({"mode": "hybrid", "embed": {"failed": True}})
    assert plan_lines({"failed": True}) == [PlanLine("Searched", "–"), PlanLine("Outcome", "the search failed")]


def test_what_is_not_known_keeps_its_name() -> None:
    assert plan_lines({"mode": "newest", "odd_step": {"rows_read": 3}})[1:] == [PlanLine("Odd step", "rows read 3")]
    assert (step_label("neighbours"), step_label("odd_step")) == ("Links, near-duplicates", "Odd step")
