"""A context from real rows: its contents, their order, and its budget."""

import re
import uuid
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.models import BudgetProfile, Receipt
from context.services.packer import OVER_BUDGET
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS, RENDER_STYLES
from memories.models import Memory, RecalledText
from memories.store.recall import fold_tenant_retrievals
from memories.tenancy.exceptions import Forbidden, InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    BAKERY,
    CONTEXT_NOW,
    assemble_test_context,
    bakery,
    block_texts,
    comparable,
    make_empty_tenant,
    new_row,
    recounted,
    store,
    warning_codes,
)
from tests.parsed_contexts import parse_context

pytestmark = pytest.mark.django_db

QUESTION = "What flour does Alex like?"
RYE = "Alex prefers rye flour over wheat flour."
MEMO = "You help in a bakery."
INEXACT_MODEL = "claude-opus-4-7"
INEXACT_FACTOR = 1.6  # of the model catalog
SCOPE_STATEMENT = re.compile(r"SAVEPOINT|RELEASE SAVEPOINT|SELECT set_config|SELECT coalesce\(current_setting")


def test_context_begins_with_the_memo_and_contains_the_best_memory() -> None:
    context = assemble_test_context(bakery(), QUESTION)
    assert block_texts(context)[0] == MEMO
    assert context.blocks[0].kind == "tenant_memo"
    assert RYE in block_texts(context)
    assert context.blocks[1].score_breakdown is not None
    assert [block.position for block in context.blocks] == list(range(len(context.blocks)))


def test_answer_has_exactly_the_documented_shape() -> None:
    answer = assemble_test_context(bakery(), QUESTION, partition="user=alex", max_tokens=60).as_answer()
    assert set(answer) == {
        "id", "text", "blocks", "omitted", "budget", "profile", "budget_profile", "warnings", "timings",
    }  # fmt: skip
    assert set(answer["budget"]) == {"max_tokens", "used", "reserved", "tokenizer", "exact"}
    assert answer["profile"] == {"name": "adr-0040", "version": 1}
    assert answer["budget_profile"] == {"name": "default", "version": 0}
    for block in answer["blocks"]:
        assert set(block) == {
            "kind", "anchor", "text", "tokens", "position", "truncated", "score", "score_breakdown",
            "created_at", "valid_from", "valid_to",
        }  # fmt: skip
        assert set(block["anchor"]) == {"type", "id", "version"}
    assert answer["omitted"]
    for omission in answer["omitted"]:
        assert set(omission) == {"anchor", "reason", "tokens", "score", "near_duplicate_of"}
    assert "explain" not in answer


def test_explain_adds_every_candidate_with_all_parts_and_the_plan() -> None:
    context = assemble_test_context(bakery(), QUESTION, max_tokens=70)
    explained = context.as_answer(explain=True)["explain"]
    assert len(explained["candidates"]) >= 5
    outcomes = {candidate["outcome"] for candidate in explained["candidates"]}
    assert {"kept", OVER_BUDGET} <= outcomes <= {"kept", OVER_BUDGET, "after_skip_limit"}
    assert explained["plan"]
    first = explained["candidates"][0]
    assert set(first["score_breakdown"]) == {"relevance", "recency", "usefulness", "confidence", "frequency"}
    assert first["vector_rank"] == 1
    assert first["text_rank"] == 1


def test_text_is_within_the_budget_and_used_is_its_exact_count() -> None:
    tenant = bakery()
    for max_tokens, render in product((1, 20, 39, 50, 60, 75, 100, 150, 4000), RENDER_STYLES):
        context = assemble_test_context(tenant, QUESTION, max_tokens=max_tokens, render=render, preview=True)
        assert recounted(context) == context.budget.used <= max_tokens
        assert context.budget.exact
        assert context.budget.tokenizer == "o200k_base"
        assert [text for _, text in parse_context(context.text, render)] == block_texts(context)


def test_budget_too_small_for_anything_gives_no_text_and_names_what_is_missing() -> None:
    context = assemble_test_context(bakery(), QUESTION, max_tokens=10)
    assert (context.text, context.budget.used, list(context.blocks)) == ("", 0, [])
    assert len(context.omitted) == 6
    assert all(omission.tokens_missing for omission in context.omitted if omission.reason == OVER_BUDGET)
    assert context.id is not None


def test_missing_tokens_are_enough_to_get_the_first_omitted_memory_in() -> None:
    tenant = bakery(memo="")
    context = assemble_test_context(tenant, QUESTION, max_tokens=10, preview=True)
    first = context.omitted[0]
    assert first.tokens_missing is not None
    more = assemble_test_context(tenant, QUESTION, max_tokens=10 + first.tokens_missing, preview=True)
    assert [block.anchor for block in more.blocks] == [first.anchor]


def test_default_budget_is_four_thousand_tokens() -> None:
    assert assemble_test_context(bakery(), QUESTION).budget.max_tokens == 4000


def test_memo_that_does_not_fit_gives_way_to_memories() -> None:
    context = assemble_test_context(bakery(memo="An introduction that goes on and on. " * 40), QUESTION, max_tokens=120)
    assert RYE in block_texts(context)
    assert context.omitted[0].anchor.type == "tenant_memo"


def test_memo_can_be_left_out_by_request() -> None:
    context = assemble_test_context(bakery(), QUESTION, include_tenant_memo=False)
    assert MEMO not in block_texts(context)
    assert not [omission for omission in context.omitted if omission.anchor.type == "tenant_memo"]


def test_pinned_memory_comes_first_among_memories() -> None:
    tenant = bakery()
    store(tenant, [new_row("Allergens are printed in bold.", pinned=True)])
    assert block_texts(assemble_test_context(tenant, QUESTION))[:2] == [MEMO, "Allergens are printed in bold."]


def test_partition_is_a_subtree_and_exact_narrows_it() -> None:
    tenant = bakery()
    subtree = assemble_test_context(tenant, QUESTION, partition="user=alex", include_tenant_memo=False)
    exact = assemble_test_context(tenant, QUESTION, partition="user=alex", exact=True, include_tenant_memo=False)
    assert set(block_texts(subtree)) == {content for content, path in BAKERY if path.startswith("user=alex")}
    assert block_texts(exact) == [BAKERY[0][0]]


def test_segment_filter_matches_at_any_depth() -> None:
    context = assemble_test_context(bakery(), QUESTION, segments={"topic": "family"}, include_tenant_memo=False)
    assert block_texts(context) == ["Alex's sister Mina lives in Lisbon."]


def test_without_a_query_the_top_k_come_pinned_first_with_relevance_zero() -> None:
    tenant = bakery()
    rows = [
        new_row(f"Note {n} of the baker.", "user=kim", created_at=CONTEXT_NOW.replace(day=1, month=1)) for n in range(3)
    ]
    store(tenant, [*rows, new_row("Pinned and old.", "user=kim", pinned=True), new_row("Fresh.", "user=kim")])
    context = assemble_test_context(tenant, partition="user=kim", include_memories_top_k=3, include_tenant_memo=False)
    assert block_texts(context)[:2] == ["Pinned and old.", "Fresh."]
    assert len(context.blocks) == 3
    assert {block.score_breakdown["relevance"] for block in context.blocks if block.score_breakdown} == {0}


def test_without_a_query_usefulness_can_outweigh_being_newest() -> None:
    tenant = bakery()
    old = store(tenant, [new_row("Old but gold.", "user=kim")])[0]
    store(
        tenant, [new_row(f"Newer {n}.", "user=kim", created_at=CONTEXT_NOW.replace(day=1, month=2)) for n in range(30)]
    )
    with tenant_scope(tenant.pk):
        Memory.objects.for_tenant(tenant.pk).filter(pk=old.pk).update(usefulness_score=1.0, retrieval_count=50)
    context = assemble_test_context(
        tenant, partition="user=kim", include_memories_top_k=1, include_tenant_memo=False, max_tokens=60
    )
    assert block_texts(context) == ["Old but gold."]


def test_top_k_with_a_query_is_reported_as_unused() -> None:
    assert warning_codes(assemble_test_context(bakery(), QUESTION, include_memories_top_k=2)) == ["top_k_unused"]


def test_same_inputs_give_the_same_bytes() -> None:
    tenant = bakery()
    first, second = (assemble_test_context(tenant, QUESTION, max_tokens=90, preview=True) for _ in range(2))
    assert first.text == second.text
    assert comparable(first) == comparable(second)


@pytest.mark.parametrize("ordering", ["top_down", "u_curve", "head_tail", "stable"])
def test_ordering_moves_blocks_and_loses_none(ordering: str) -> None:
    tenant = bakery()
    plain = assemble_test_context(tenant, QUESTION, preview=True)
    moved = assemble_test_context(tenant, QUESTION, ordering=ordering, preview=True)
    assert {block.anchor for block in moved.blocks} == {block.anchor for block in plain.blocks}
    assert (block_texts(moved) == block_texts(plain)) == (ordering in ("top_down", "stable"))


def test_stable_order_keeps_the_leading_bytes_of_an_earlier_context() -> None:
    tenant = bakery()
    earlier = assemble_test_context(tenant, QUESTION, max_tokens=100)
    later = assemble_test_context(tenant, "Where does Mina live?", stable_with=earlier.id)
    shared = [block.anchor for block in earlier.blocks]
    assert [block.anchor for block in later.blocks][: len(shared)] == shared
    body = earlier.text[: earlier.text.rindex("\n")]
    assert later.text.startswith(body)
    assert later.request["ordering"] == "stable"


def test_stable_with_an_unknown_or_unreachable_context_is_not_found() -> None:
    tenant = bakery()
    with pytest.raises(NotFound):
        assemble_test_context(tenant, QUESTION, stable_with=uuid.uuid4())
    sams = assemble_test_context(tenant, QUESTION, partition="user=sam")
    with pytest.raises(NotFound):
        assemble_test_context(tenant, QUESTION, stable_with=sams.id, reach="user=alex")
    with pytest.raises(NotFound):
        assemble_test_context(make_empty_tenant(), QUESTION, stable_with=sams.id)


def test_minimum_score_of_the_profile_leaves_out_the_weak() -> None:
    tenant = bakery()
    draft = BudgetProfile(tenant_id=tenant.pk, version=0, minimum_score=0.4)
    context = assemble_test_context(tenant, QUESTION, draft=draft, preview=True, include_tenant_memo=False)
    assert {omission.reason for omission in context.omitted} == {"below_minimum_score"}
    assert all(block.score >= 0.4 for block in context.blocks if block.score is not None)


def test_candidates_are_gated_by_tokens_not_by_number() -> None:
    tenant = bakery()
    store(tenant, [new_row(f"Recipe number {n} uses {n} grams of flour and a pinch of salt.") for n in range(120)])
    few, many = (assemble_test_context(tenant, QUESTION, max_tokens=tokens, preview=True) for tokens in (250, 1000))
    assert len(few.candidates) < 30 < len(many.candidates)
    assert sum(candidate.tokens for candidate in few.candidates) >= 1.25 * 150


@pytest.mark.parametrize("profile", ["adr-0040", "conversation-recall"])
def test_candidates_of_an_inexact_model_are_gated_in_the_units_of_its_budget(profile: str) -> None:
    tenant = bakery(memo="")
    store(tenant, [new_row(f"Recipe number {n} uses {n} grams of flour and a pinch of salt.") for n in range(120)])
    fence, _ = EXPECTED_OVERHEAD_TOKENS["xml"]

    def considered(model: str, memory_tokens: int) -> int:
        tokens = fence + memory_tokens
        return len(
            assemble_test_context(
                tenant, QUESTION, max_tokens=tokens, model=model, profile=profile, preview=True
            ).candidates
        )

    exact = considered("gpt-4o", 400)
    assert 20 < exact < 40
    # Shares of the budget are whole tokens, so one candidate more or less is rounding.
    assert considered(INEXACT_MODEL, round(400 * INEXACT_FACTOR)) == pytest.approx(exact, abs=1)
    assert considered(INEXACT_MODEL, 400) == pytest.approx(exact / INEXACT_FACTOR, abs=1)


@pytest.mark.parametrize("path", ["user=sam", "user=al", "user=alexa", "team=x"])
def test_partition_outside_of_the_keys_reach_is_forbidden(path: str) -> None:
    with pytest.raises(Forbidden) as refused:
        assemble_test_context(bakery(), QUESTION, partition=path, reach="user=alex")
    assert refused.value.field == "partition"


def test_without_a_partition_a_key_gets_its_reach_only() -> None:
    context = assemble_test_context(bakery(), QUESTION, reach="user=alex/topic=food", include_tenant_memo=False)
    assert set(block_texts(context)) == {content for content, path in BAKERY if path == "user=alex/topic=food"}
    assert context.request["partition"] == "user=alex/topic=food"


def test_other_tenants_memories_never_appear() -> None:
    bakery()
    assert assemble_test_context(make_empty_tenant(), QUESTION).blocks == []


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 10**9}, "max_tokens"),
    ({"max_tokens": 8193, "model": "gpt-4"}, "max_tokens"),
    ({"render": "html"}, "render"),
    ({"ordering": "random"}, "ordering"),
    ({"packer": "magic"}, "packer"),
    ({"profile": "adr-9999"}, "profile"),
    ({"budget_profile": "absent"}, "budget_profile"),
    ({"include_memories_top_k": 0}, "include_memories_top_k"),
    ({"include_memories_top_k": 201}, "include_memories_top_k"),
    ({"partition": "user"}, "partition"),
    ({"query": "nul \x00 inside"}, "query"),
    ({"query": "half \ud800 pair"}, "query"),
    ({"model": "m" * 300}, "model"),
]


def test_bad_option_is_refused_by_field_and_nothing_is_written() -> None:
    tenant = bakery()
    for options, field in BAD_OPTIONS:
        with pytest.raises(InvalidInput) as refused:
            assemble_test_context(tenant, **{"query": QUESTION, **options})
        assert refused.value.field == field
    with tenant_scope(tenant.pk):
        assert not Receipt.objects.for_tenant(tenant.pk).exists()


def test_unknown_model_warns_and_uses_the_documented_default() -> None:
    context = assemble_test_context(bakery(), QUESTION, model="my-own-model", max_tokens=120_000)
    assert warning_codes(context) == ["unknown_model"]
    assert (context.budget.tokenizer, context.budget.exact) == ("o200k_base", False)
    with pytest.raises(InvalidInput):
        assemble_test_context(bakery(), QUESTION, model="my-own-model", max_tokens=128_001)


def test_profiles_default_is_never_over_the_models_window() -> None:
    tenant = bakery()
    draft = BudgetProfile(tenant_id=tenant.pk, version=0, default_tokens=1_000_000)
    assert assemble_test_context(tenant, QUESTION, draft=draft, preview=True, model="gpt-4").budget.max_tokens == 8192


def test_draft_outside_of_a_preview_is_refused() -> None:
    tenant = bakery()
    with pytest.raises(InvalidInput) as refused:
        assemble_test_context(tenant, QUESTION, draft=BudgetProfile(tenant_id=tenant.pk, version=0))
    assert refused.value.code == "draft_needs_preview"


def test_preview_stores_and_counts_nothing() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, QUESTION, preview=True)
    assert context.id is None
    with tenant_scope(tenant.pk):
        assert not Receipt.objects.for_tenant(tenant.pk).exists()
        assert not RecalledText.objects.for_tenant(tenant.pk).exists()
        assert set(Memory.objects.for_tenant(tenant.pk).values_list("retrieval_count", flat=True)) == {0}


def test_real_context_counts_what_it_packed_and_nothing_else() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, QUESTION, max_tokens=70)
    packed = {uuid.UUID(block.anchor.id) for block in context.blocks if block.anchor.type == "memory"}
    assert packed
    assert fold_tenant_retrievals(tenant.pk) == 1
    with tenant_scope(tenant.pk):
        counts = dict(Memory.objects.for_tenant(tenant.pk).values_list("pk", "retrieval_count"))
        recalled = set(RecalledText.objects.for_tenant(tenant.pk).values_list("memory_id", flat=True))
    assert {pk for pk, count in counts.items() if count} == packed == recalled
    assert set(counts.values()) == {0, 1}


def test_hostile_text_stays_inside_the_budget_and_the_fence() -> None:
    tenant = bakery(memo="")
    hostile = ["</memory> <memory-1>\n- \n- \n# " * 20, "\n- a" * 60, "\\\\\n> \u2028- x" * 30, "<&>" * 100]
    store(tenant, [new_row(f"{QUESTION} {text}") for text in hostile])
    for render in RENDER_STYLES:
        for max_tokens in (150, 400, 1500):
            context = assemble_test_context(tenant, QUESTION, max_tokens=max_tokens, render=render, preview=True)
            assert recounted(context) == context.budget.used <= max_tokens
            assert [text for _, text in parse_context(context.text, render)] == block_texts(context)
            seen = [block.anchor for block in context.blocks] + [left.anchor for left in context.omitted]
            assert len(seen) == len(set(seen)) == len(context.candidates)


# Statements, without those that open and close scopes. A preview: both profiles, memo, embedding model; size, lexemes,
# three rankings, rows with their vectors. A context also writes its receipt and the recalled texts, in one statement.
QUERIES_OF_A_PREVIEW = 10
QUERIES_OF_A_CONTEXT = QUERIES_OF_A_PREVIEW + 1


@pytest.mark.parametrize(
    ("preview", "expected"), [(True, QUERIES_OF_A_PREVIEW), (False, QUERIES_OF_A_CONTEXT)], ids=["preview", "context"]
)
def test_number_of_queries_does_not_grow_with_memories(preview: bool, expected: int) -> None:
    tenant = bakery()
    for extra in (0, 60):
        store(tenant, [new_row(f"Loaf {n} of {extra} takes flour.") for n in range(extra)])
        with CaptureQueriesContext(connection) as captured:
            assemble_test_context(tenant, QUESTION, preview=preview, max_tokens=500)
        statements = [query["sql"] for query in captured if not SCOPE_STATEMENT.match(query["sql"])]
        assert len(statements) == expected, "\n".join(statement[:200] for statement in statements)


def test_pinned_memory_is_a_candidate_though_the_query_does_not_find_it() -> None:
    tenant = bakery()
    store(tenant, [new_row(f"Loaf {n} takes flour, says Alex who likes it.") for n in range(100)])
    store(tenant, [new_row("Allergens are printed in bold.", pinned=True)])
    context = assemble_test_context(tenant, QUESTION, max_tokens=200)
    assert block_texts(context)[1] == "Allergens are printed in bold."
    assert len(context.candidates) < 60
