"""Packers and orderings through the whole assembly: shortened texts, the optimum and its gap, stable prefixes."""

import itertools

import pytest

from context.models import BudgetProfile
from context.receipts.results import AssembledContext
from context.services.packer import OVER_BUDGET
from context.services.packer.snippets import ELLIPSIS
from context.services.rendering import RENDER_STYLES
from memories.models import Memory, Tenant
from memories.services.tokens import count_tokens
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.scopes import tenant_scope
from tests.integration.context.assembly.test_assembly import QUESTION
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
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

THINGS = ("flour", "water", "salt", "yeast", "butter", "sugar", "milk", "eggs", "seeds", "honey")


def story(thing: str) -> str:
    """About 90 tokens on one subject."""
    return f"Alex likes {thing}. " + " ".join(
        f"On day {day} the {thing} came late from the {place} and nobody at the counter was glad about it."
        for day, place in enumerate(("mill", "harbour", "market", "farm"))
    )


@pytest.fixture
def tenant() -> Tenant:
    """A bakery with ten long stories."""
    tenant = bakery()
    store(tenant, [new_row(story(thing), "user=alex") for thing in THINGS])
    return tenant


def memories(context: AssembledContext) -> list[str]:
    return [block.text for block in context.blocks if block.kind == "memory"]


# --- Elastic --------------------------------------------------------------------------------------------------------


def test_elastic_shortens_texts_so_that_more_of_them_fit(tenant: Tenant) -> None:
    for render in RENDER_STYLES:
        for max_tokens in [120, 200, 300, 700]:
            options = {"max_tokens": max_tokens, "render": render, "preview": True, "query": "What does Alex like?"}
            greedy, elastic = (
                assemble_test_context(tenant, packer=packer, **options) for packer in ("greedy", "elastic")
            )
            assert recounted(elastic) == elastic.budget.used <= max_tokens
            if render == "markdown" and max_tokens <= 300:
                assert len(memories(elastic)) >= len(memories(greedy))
                assert any(block.truncated for block in elastic.blocks)
            assert [text for _, text in parse_context(elastic.text, render)] == block_texts(elastic)


def test_shortened_block_is_marked_and_counted_as_rendered(tenant: Tenant) -> None:
    context = assemble_test_context(tenant, "What does Alex like?", packer="elastic", max_tokens=200)
    cut = [block for block in context.blocks if block.truncated]
    assert cut
    with tenant_scope(tenant.pk):
        stored = {str(row.pk): row.content for row in Memory.objects.for_tenant(tenant.pk)}
    for block in context.blocks:
        assert block.tokens == count_tokens(block.text, "o200k_base")
        assert block.as_answer()["truncated"] is block.truncated
        assert block.text in context.text
    for block in cut:
        assert block.text.endswith(ELLIPSIS)
        assert stored[block.anchor.id].startswith(block.text.removesuffix(ELLIPSIS))
        assert 1 <= block.tokens <= 90


def test_elastic_puts_the_best_at_both_ends_unless_an_ordering_is_requested(tenant: Tenant) -> None:
    assert assemble_test_context(tenant, QUESTION, packer="elastic").request["ordering"] == "head_tail"
    assert (
        assemble_test_context(tenant, QUESTION, packer="elastic", ordering="top_down").request["ordering"] == "top_down"
    )
    draft = BudgetProfile(tenant_id=tenant.pk, version=0, packer="elastic", ordering="u_curve")
    assert assemble_test_context(tenant, QUESTION, draft=draft, preview=True).request["ordering"] == "u_curve"
    assert assemble_test_context(tenant, QUESTION, packer="greedy").request["ordering"] == "top_down"


def test_elastic_numbers_are_the_profiles(tenant: Tenant) -> None:
    draft = BudgetProfile(
        tenant_id=tenant.pk,
        version=0,
        packer="elastic",
        elastic_target_items=3,
        elastic_min_tokens=10,
        elastic_max_tokens=30,
        elastic_fills_budget=False,
    )
    context = assemble_test_context(tenant, "What does Alex like?", draft=draft, preview=True)
    assert len(memories(context)) == 3
    assert all(block.tokens <= 30 for block in context.blocks if block.kind == "memory")
    [warning] = [notice for notice in context.warnings if notice.code == "elastic_budget_unused"]
    omitted = len([row for row in context.omitted if row.reason == OVER_BUDGET])
    shortened = len([block for block in context.blocks if block.truncated])
    assert f"{omitted} memories are excluded and {shortened} shortened" in warning.detail
    assert "3 memories of at most 30 tokens each" in warning.detail


def test_elastic_budget_is_filled_with_all_that_fits_and_then_with_length(tenant: Tenant) -> None:
    for max_tokens in (400, 700, 1_000, 4_000):
        context = assemble_test_context(tenant, "What does Alex like?", packer="elastic", max_tokens=max_tokens)
        assert recounted(context) == context.budget.used <= max_tokens
        assert "elastic_budget_unused" not in warning_codes(context)
        if any(block.truncated for block in context.blocks) or any(
            row.reason == OVER_BUDGET for row in context.omitted
        ):
            assert context.budget.used > 0.9 * max_tokens
    assert not any(block.truncated for block in context.blocks)
    assert not context.omitted


def test_text_beyond_the_elastic_target_or_its_section_budget_is_not_reported_to_lack_tokens(tenant: Tenant) -> None:
    few = BudgetProfile(
        tenant_id=tenant.pk, version=0, packer="elastic", elastic_target_items=1, elastic_fills_budget=False
    )
    narrow = BudgetProfile(tenant_id=tenant.pk, version=0, sections={"memories": {"tokens": 1}})
    for draft in (few, narrow):
        context = assemble_test_context(tenant, "What does Alex like?", draft=draft, preview=True)
        left_out = [row for row in context.omitted if row.reason == OVER_BUDGET]
        assert left_out
        assert all(row.tokens_missing is None for row in left_out)


# --- Optimal --------------------------------------------------------------------------------------------------------


def test_optimal_packs_the_highest_total_and_warns_of_what_that_means(tenant: Tenant) -> None:
    options = {"query": "What does Alex like?", "max_tokens": 300, "preview": True, "explain": True}
    greedy, optimal = (assemble_test_context(tenant, packer=packer, **options) for packer in ("greedy", "optimal"))
    assert "uncalibrated_profile" in warning_codes(optimal)
    assert "uncalibrated_profile" not in warning_codes(greedy)
    assert greedy.optimality is not None
    assert optimal.optimality is not None
    best = optimal.optimality["optimal_score"]
    assert best is not None
    assert optimal.optimality == {"total_score": best, "optimal_score": best, "upper_bound": best, "gap": 0.0}
    assert greedy.optimality["optimal_score"] == best
    assert greedy.optimality["gap"] == pytest.approx(best - (greedy.optimality["total_score"] or 0), abs=1e-6)
    scores = sum(block.score or 0 for block in greedy.blocks)
    assert greedy.optimality["total_score"] == pytest.approx(scores, abs=1e-6)


def test_explained_context_reports_optimum_and_gap_for_every_packer_and_its_receipt_keeps_them(tenant: Tenant) -> None:
    for packer in ("greedy", "elastic", "optimal"):
        context = assemble_test_context(tenant, "What does Alex like?", packer=packer, max_tokens=300, explain=True)
        figures = context.as_answer(explain=True)["explain"]["optimality"]
        assert set(figures) == {"total_score", "optimal_score", "upper_bound", "gap"}
        assert context.plan.keys().isdisjoint({"optimality"})
    assert (
        assemble_test_context(tenant, "What does Alex like?", preview=True).as_answer(explain=True)["explain"][
            "optimality"
        ]
        is None
    )


# --- Orderings ------------------------------------------------------------------------------------------------------


def leading_bytes(first: str, second: str) -> bytes:
    """Return the bytes with which both texts begin."""
    pairs = zip(first.encode(), second.encode(), strict=False)
    return bytes(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def asked_again(tenant: Tenant, earlier: AssembledContext, query: str, **options: object) -> AssembledContext:
    return assemble_test_context(tenant, query, stable_with=earlier.id, **options)


@pytest.mark.parametrize("render", RENDER_STYLES)
def test_stable_ordering_keeps_leading_bytes_and_reports_their_tokens(tenant: Tenant, render: str) -> None:
    earlier = assemble_test_context(tenant, QUESTION, max_tokens=300, render=render)
    later = asked_again(tenant, earlier, "Where does Mina live?", render=render, max_tokens=2000)
    prefix = leading_bytes(earlier.text, later.text)
    tail = {"markdown": len("\n</memory-000000000000>"), "xml": len("\n</memory-000000000000>")}.get(render, 40)
    assert len(prefix) >= len(earlier.text.encode()) - tail
    assert later.stable_prefix_tokens == count_tokens(prefix.decode(), "o200k_base")
    assert later.as_answer()["stable_prefix_tokens"] == later.stable_prefix_tokens
    assert "stable_prefix_tokens" not in earlier.as_answer()


def test_the_same_question_keeps_every_byte(tenant: Tenant) -> None:
    earlier = assemble_test_context(tenant, QUESTION, max_tokens=300)
    later = asked_again(tenant, earlier, QUESTION, max_tokens=300)
    assert later.text == earlier.text
    assert later.stable_prefix_tokens == earlier.budget.used


def test_edited_block_ends_the_prefix_and_earlier_blocks_stay(tenant: Tenant) -> None:
    earlier = assemble_test_context(tenant, QUESTION, max_tokens=300)
    third = earlier.blocks[2].anchor.id
    with tenant_scope(tenant.pk):
        row = Memory.objects.for_tenant(tenant.pk).get(pk=third)
        update_memory(memory=row, changes={"content": "Written anew."}, by=SYSTEM, now=CONTEXT_NOW)
    later = asked_again(tenant, earlier, QUESTION, max_tokens=300)
    assert [block.anchor for block in later.blocks][:2] == [block.anchor for block in earlier.blocks][:2]
    assert 0 < (later.stable_prefix_tokens or 0) < earlier.budget.used


def test_earlier_context_that_was_erased_since_promises_no_prefix(tenant: Tenant) -> None:
    earlier = assemble_test_context(tenant, QUESTION, max_tokens=300)
    with tenant_scope(tenant.pk):
        Memory.objects.for_tenant(tenant.pk).filter(pk=earlier.blocks[-1].anchor.id).delete()
    later = asked_again(tenant, earlier, QUESTION)
    assert later.stable_prefix_tokens == 0
    assert "stable_with_unverified" in warning_codes(later)


def test_prefix_is_reported_only_for_the_stable_order(tenant: Tenant) -> None:
    earlier = assemble_test_context(tenant, QUESTION)
    other = asked_again(tenant, earlier, QUESTION, ordering="top_down")
    assert other.stable_prefix_tokens is None
    assert "stable_with_unused" in warning_codes(other)


def test_same_inputs_give_the_same_bytes(tenant: Tenant) -> None:
    for packer in ["greedy", "elastic", "optimal"]:
        for ordering in ["top_down", "u_curve", "head_tail", "stable"]:
            options = {"packer": packer, "ordering": ordering, "max_tokens": 250, "preview": True, "explain": True}
            first, second = (assemble_test_context(tenant, QUESTION, **options) for _ in range(2))
            assert first.text == second.text
            assert comparable(first) == comparable(second)


def test_ordering_moves_the_whole_list_of_blocks(tenant: Tenant) -> None:
    plain, reordered = (
        assemble_test_context(tenant, QUESTION, ordering=order, preview=True) for order in ("top_down", "head_tail")
    )
    expected = [block.anchor for block in plain.blocks]
    assert [block.anchor for block in reordered.blocks] == expected[0::2] + expected[1::2][::-1]
    assert reordered.blocks[0].kind == "tenant_memo"


def test_removed_block_is_replaced_after_the_remaining_ones() -> None:
    tenant = make_empty_tenant()
    # "Yeast" has a token more than the others, and a longer text may take the place of two blocks.
    things = [thing for thing in THINGS if thing != "yeast"]
    rows = store(tenant, [new_row(f"{thing.title()} is what Alex likes.") for thing in things])
    earlier = assemble_test_context(tenant, "What does Alex like?", max_tokens=75)
    gone = earlier.blocks[-1].anchor.id
    with tenant_scope(tenant.pk):
        archive_memory(memory=next(row for row in rows if str(row.pk) == gone), by=SYSTEM, now=CONTEXT_NOW)
    later = asked_again(tenant, earlier, "What does Alex like?", max_tokens=75)
    stayed = [block.anchor for block in earlier.blocks][:-1]
    assert [block.anchor for block in later.blocks][: len(stayed)] == stayed
