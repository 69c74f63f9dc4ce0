"""The inclusion budget agrees with real contexts at each budget, and its context always includes the item."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from context.assembly.requests import resolve_context_request
from context.assembly.sources import ContextCaller
from context.receipts.results import AssembledContext, ContextRequest
from context.workbench.inclusion_budget import InclusionBudget, find_inclusion_budget
from memories.models import Tenant
from tests.integration.context_helpers import CONTEXT_NOW, SYSTEM, assemble_test_context, bakery, new_row, store

QUERY = "What does Alex bake, and in which oven?"


def admission(
    tenant: Tenant, anchor_id: str, clock: Callable[[], float] = lambda: 0.0, **options: Any
) -> InclusionBudget:
    request = resolve_context_request(
        ContextRequest(query=QUERY, preview=True, explain=True, **options),
        ContextCaller(tenant.pk, SYSTEM, CONTEXT_NOW),
    )
    return find_inclusion_budget(request, anchor_id, clock=clock)


def holds(context: AssembledContext, anchor_id: str) -> bool:
    return any(block.anchor.id == anchor_id for block in context.blocks)


@pytest.fixture
def kitchen(transactional_db: None) -> Tenant:
    """Many texts with similar scores: each has its own time, so that age and not a random id decides between ties."""
    tenant = bakery()
    texts = [f"Oven {n} of the bakery holds {n * 3} loaves of bread" + " and some rolls" * (n % 7) for n in range(25)]
    rows = [
        new_row(
            f"{text}.",
            "user=alex/topic=food",
            pinned=n % 9 == 0,
            created_at=CONTEXT_NOW - timedelta(days=30, minutes=n),
        )
        for n, text in enumerate(texts)
    ]
    store(tenant, rows)
    return tenant


@pytest.mark.parametrize(
    ("packer", "profile"),
    [("greedy", "conversation-recall"), ("elastic", ""), ("optimal", "conversation-recall")],
)
def test_budget_is_the_smallest_at_which_an_actual_context_includes_it(
    kitchen: Tenant, packer: str, profile: str
) -> None:
    options: dict[str, Any] = {"max_tokens": 90, "packer": packer, "profile": profile, "partition": "user=alex"}
    left_out = [row.anchor.id for row in assemble_test_context(kitchen, QUERY, preview=True, **options).omitted]
    admissions = {anchor_id: admission(kitchen, anchor_id, **options) for anchor_id in left_out}
    # a near-duplicate of an included text has no inclusion budget; the elastic packer stops at a number of texts
    reasons = {"near_duplicate"} | ({"over_budget"} if packer == "elastic" else set())
    assert {found.outcome for found in admissions.values() if not found.inclusion} <= reasons
    last = max((found.inclusion.budget for found in admissions.values() if found.inclusion), default=91)
    # each budget just below one of them, some of the others, and one that is enough for everything
    looked_at = {*range(91, last, 9), 4_000}
    for found in admissions.values():
        if found.inclusion:
            looked_at |= set(range(max(91, found.inclusion.budget - 8), found.inclusion.budget + 1))
    contexts = {
        budget: assemble_test_context(kitchen, QUERY, preview=True, **options | {"max_tokens": budget})
        for budget in looked_at
    }
    for anchor_id, found in admissions.items():
        including = sorted(budget for budget, context in contexts.items() if holds(context, anchor_id))
        if found.inclusion is None:
            assert including == []
            continue
        assert found.inclusion.budget in including
        assert not found.inclusion.is_smallest or including[0] == found.inclusion.budget
    assert any(found.inclusion for found in admissions.values()) or packer == "elastic"


def test_memo_and_items_already_included_are_reported_too(kitchen: Tenant) -> None:
    context = assemble_test_context(kitchen, QUERY, preview=True, max_tokens=30)
    memo = str(kitchen.pk)
    assert not holds(context, memo)
    found = admission(kitchen, memo, max_tokens=30)
    assert found.inclusion
    assert holds(assemble_test_context(kitchen, QUERY, preview=True, max_tokens=found.inclusion.budget), memo)
    kept = admission(kitchen, memo, max_tokens=found.inclusion.budget)
    assert kept.is_already_included


def test_no_budget_includes_a_memory_that_is_no_candidate(kitchen: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("context.assembly.repacking.RepackableContext.includes")  # never packed
    found = admission(kitchen, "00000000-0000-0000-0000-000000000000", max_tokens=90)
    assert (found.inclusion, found.outcome) == (None, "")
    assert found.highest_budget_tried == 32_000


def test_search_ends_at_its_time_limit_and_reports_the_highest_budget(kitchen: Tenant) -> None:
    left_out = assemble_test_context(kitchen, QUERY, preview=True, max_tokens=90, partition="user=alex").omitted
    ticks = count()
    found = admission(kitchen, left_out[0].anchor.id, lambda: float(next(ticks)), max_tokens=90, partition="user=alex")
    assert (found.inclusion, found.is_search_limited) == (None, True)
    assert found.highest_budget_tried < 32_000
