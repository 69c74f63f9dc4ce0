"""How a context was found is told without the words of the search's own code."""

import pytest

from context.services.found import Fact, plan_facts, step_name

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
