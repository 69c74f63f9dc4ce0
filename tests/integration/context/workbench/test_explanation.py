"""Why a memory is not in a context: one explanation for each state, with the rank and score it would have."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from context.assembly.sources import ContextCaller
from context.models import BudgetProfile
from context.receipts.results import ContextRequest
from context.workbench.explanation import MemoryExplanation, explain_memory
from memories.models import Memory, Tenant
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import CONTEXT_NOW, SYSTEM, assemble_test_context, bakery, new_row, store

QUERY = "What does Alex bake, and in which oven?"
ASKED = ContextRequest(query=QUERY, partition="user=alex", max_tokens=400)


@pytest.fixture
def kitchen(transactional_db: None) -> Tenant:
    return bakery()


def explain(tenant: Tenant, memory: Memory, request: ContextRequest = ASKED, reach: str = "") -> MemoryExplanation:
    return explain_memory(request, memory.pk, ContextCaller(tenant.pk, SYSTEM, CONTEXT_NOW, reach), clock=lambda: 0.0)


def change(memory: Memory, **changes: Any) -> None:
    with tenant_scope(memory.tenant_id):
        row = Memory.objects.for_tenant(memory.tenant_id).get(pk=memory.pk)
        update_memory(memory=row, changes=changes, by=SYSTEM, now=CONTEXT_NOW)


def test_included_memory_has_its_position_and_what_scored_it(kitchen: Tenant) -> None:
    (memory,) = store(kitchen, [new_row("Alex bakes in the stone oven.", "user=alex")])
    found = explain(kitchen, memory)
    context = assemble_test_context(kitchen, **vars(replace(ASKED, preview=True)))
    block = next(one for one in context.blocks if one.anchor.id == str(memory.pk))
    assert (found.reason, found.position, found.is_estimated) == ("", block.position + 1, False)
    assert (found.standing.score, found.inclusion) == (block.score, None)


def test_each_state_that_keeps_a_memory_out_is_named(kitchen: Tenant) -> None:
    text = "Alex bakes rye bread in the {} oven."
    gone, stale, elsewhere = store(
        kitchen,
        [
            new_row(text.format("old"), "user=alex"),
            new_row(text.format("new"), "user=alex", expires_at=CONTEXT_NOW - timedelta(hours=1)),
            new_row(text.format("third"), "user=sam"),
        ],
    )
    with tenant_scope(kitchen.pk):
        archive_memory(memory=Memory.objects.for_tenant(kitchen.pk).get(pk=gone.pk), by=SYSTEM, now=CONTEXT_NOW)
    found = {memory.pk: explain(kitchen, memory) for memory in (gone, stale, elsewhere)}
    assert [found[memory.pk].reason for memory in (gone, stale, elsewhere)] == ["archived", "expired", "elsewhere"]
    for each in found.values():
        assert each.is_estimated
        assert each.standing.vector_rank is not None
        assert each.standing.text_rank is not None
        assert each.standing.score is not None
        assert each.inclusion is None
    assert "user=sam" in found[elsewhere.pk].sentence


def test_superseded_memory_names_its_successor(kitchen: Tenant) -> None:
    (older,) = store(kitchen, [new_row("Alex bakes on Saturday.", "user=alex")])
    (newer,) = store(kitchen, [new_row("Alex bakes on Sunday.", "user=alex", supersedes=[older.pk])])
    found = explain(kitchen, older)
    assert (found.reason, found.successor) == ("superseded", newer)


def test_minimum_score_and_near_duplicate_are_reasons(kitchen: Tenant) -> None:
    first, second = store(
        kitchen, [new_row("Alex bakes bread in the oven.", f"user=alex/topic={name}") for name in ("bread", "oven")]
    )
    found = [explain(kitchen, memory) for memory in (first, second)]
    assert {each.reason for each in found} == {"", "near_duplicate"}
    excluded = next(each for each in found if each.reason)
    assert excluded.twin in (first, second)
    (below,) = store(kitchen, [new_row("A bus leaves the village at noon.", "user=alex")])
    draft = BudgetProfile(tenant=kitchen, name="default", version=0, minimum_score=0.99)
    assert explain(kitchen, below, replace(ASKED, draft=draft)).reason == "below_minimum_score"


def test_memory_beyond_the_candidates_has_ranks_score_and_inclusion_budget(kitchen: Tenant) -> None:
    better = [new_row(f"Alex bakes loaf number {n} in oven {n}.", "user=alex") for n in range(40)]
    store(kitchen, better)
    (far,) = store(kitchen, [new_row("A bus leaves the village at noon.", "user=alex")])
    small = replace(ASKED, max_tokens=60)
    found = explain(kitchen, far, small)
    assert (found.reason, found.is_estimated) == ("farther", True)
    assert found.standing.vector_rank is not None
    assert found.standing.vector_rank > 20
    assert found.standing.text_rank is None
    assert found.standing.score is not None
    assert found.lowest_score is not None
    assert found.standing.score < found.lowest_score
    assert found.inclusion is not None
    assert found.inclusion.inclusion is not None
    larger = replace(small, max_tokens=found.inclusion.inclusion.budget)
    assert explain(kitchen, far, larger).is_included


def test_ranks_are_those_of_a_search_that_finds_the_memory(kitchen: Tenant) -> None:
    store(kitchen, [new_row(f"Alex bakes loaf number {n} in oven {n}.", "user=alex") for n in range(12)])
    (memory,) = store(kitchen, [new_row("Alex bakes every week.", "user=sam")])
    estimated = explain(kitchen, memory).standing
    change(memory, partition=new_row("", "user=alex").partition)
    real = explain(kitchen, memory)
    assert not real.is_estimated
    assert (estimated.vector_rank, estimated.text_rank) == (real.standing.vector_rank, real.standing.text_rank)
    assert estimated.score == pytest.approx(real.standing.score, abs=0.02)


def test_memory_out_of_reach_does_not_exist(kitchen: Tenant) -> None:
    (memory,) = store(kitchen, [new_row("Sam bakes too.", "user=sam")])
    with pytest.raises(NotFound):
        explain(kitchen, memory, reach="user=alex")
