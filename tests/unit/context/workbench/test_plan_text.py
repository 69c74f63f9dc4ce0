"""How a context was found is told without the words of the search's own code."""

import pytest

from context.services.workbench.plan_text import REASONS, Fact, plan_facts, step_name
from memories.services.search.plan import Reason

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


def test_hybrid_search_is_told_step_by_step() -> None:
    assert plan_facts(HYBRID) == [
        Fact("Searched", "by meaning and by words"),
        Fact("Embedding model", "wordllama-l2-supercat-256"),
        Fact("Found by meaning", "1,054 memories, exact search"),
        Fact("Found by words", "20 memories, by 1 word stem"),
        Fact("Pinned", "1 memory"),
        Fact("Found in all", "1,054 memories"),
        Fact("Considered", "8 memories, the best found"),
        Fact("Read", "8 memories"),
    ]


def test_reason_of_a_search_and_what_a_pool_reads_are_told_in_words() -> None:
    plan = {
        "mode": "hybrid",
        "vector": {"search": "exact", "reason": "few_rows", "limit": 1000, "rows_in_scope": 419, "rows": 419},
        "beside": {"reach": 2, "rows": 121},
        "vectors": {"rows": 321},
    }
    assert plan_facts(plan)[1:] == [
        Fact("Found by meaning", "419 memories, exact search: the scope is small"),
        Fact("Beside them", "121 memories, up to 2 messages away"),
        Fact("Vectors read", "of 321 memories"),
    ]
    assert (step_name("beside"), step_name("vectors")) == ("Reading messages beside them", "Reading their vectors")


def test_every_reason_of_a_search_has_words() -> None:
    assert set(REASONS) == {reason.value for reason in Reason}


def test_order_does_not_hang_on_how_the_plan_was_kept() -> None:
    assert plan_facts(dict(sorted(HYBRID.items()))) == plan_facts(HYBRID)


@pytest.mark.parametrize("word", ["lexeme", "gated", "fused", "rows"])
def test_no_word_of_the_code_is_left(word: str) -> None:
    assert not any(word in f"{fact.name} {fact.text}".lower() for fact in plan_facts(HYBRID))


def test_failures_are_told() -> None:
    assert Fact("Embedding model", "did not answer") in plan_facts({"mode": "hybrid", "embed": {"failed": True}})
    assert plan_facts({"failed": True}) == [Fact("Searched", "–"), Fact("Outcome", "the search failed")]


def test_what_is_not_known_keeps_its_name() -> None:
    assert plan_facts({"mode": "newest", "odd_step": {"rows_read": 3}})[1:] == [Fact("Odd step", "rows read 3")]
    assert (step_name("neighbours"), step_name("odd_step")) == ("Links, near duplicates", "Odd step")
