"""How receipts are inserted, and which receipts contain a memory, as opposed to considering it."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.models import Receipt
from context.receipts.storing import receipt_anchors
from memories.models import Memory, RetrievalTick, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    assemble_test_context,
    bakery,
    make_empty_tenant,
    new_row,
    store,
)

pytestmark = pytest.mark.django_db

QUESTION = "What flour does Alex like?"
DAY = timedelta(days=1)


def receipts_with(tenant: Tenant, memory_id: UUID) -> set[UUID]:
    with tenant_scope(tenant.pk):
        return {row.pk for row in Receipt.objects.for_tenant(tenant.pk).holding_any([memory_id])}


def memory_ids_by_receipt(tenant: Tenant) -> dict[UUID, list[UUID]]:
    with tenant_scope(tenant.pk):
        return {row.pk: row.memory_ids for row in Receipt.objects.for_tenant(tenant.pk)}


def test_memory_is_found_in_its_oldest_receipt_behind_many_others() -> None:
    tenant = make_empty_tenant()
    old, new = store(tenant, [new_row("The shop opens at nine.", "user=a"), new_row("The oven is hot.", "user=b")])
    first = assemble_test_context(tenant, partition="user=a", now=CONTEXT_NOW - 300 * DAY)
    for day in range(60):
        assemble_test_context(tenant, partition="user=b", now=CONTEXT_NOW - day * DAY)
    assert receipts_with(tenant, old.pk) == {first.id}
    assert len(receipts_with(tenant, new.pk)) == 60


def test_candidate_that_was_not_packed_is_not_in_the_column() -> None:
    tenant = bakery()
    given = assemble_test_context(tenant, QUESTION, max_tokens=60)
    kept = {UUID(block.anchor.id) for block in given.blocks if block.anchor.type == "memory"}
    considered = {UUID(candidate.anchor.id) for candidate in given.candidates}
    assert kept
    assert considered - kept
    assert all(receipts_with(tenant, memory_id) == {given.id} for memory_id in kept)
    assert all(receipts_with(tenant, memory_id) == set() for memory_id in considered - kept)


def test_receipts_of_another_tenant_are_not_found() -> None:
    tenant, other = bakery(), make_empty_tenant()
    assemble_test_context(tenant, QUESTION)
    memory_id = next(iter(memory_ids_by_receipt(tenant).values()))[0]
    assert receipts_with(other, memory_id) == set()


def test_receipts_are_found_without_reading_what_they_considered() -> None:
    tenant = bakery()
    assemble_test_context(tenant, QUESTION)
    with tenant_scope(tenant.pk):
        memory = Memory.objects.for_tenant(tenant.pk).latest("pk")
        with CaptureQueriesContext(connection) as queries:
            list(Receipt.objects.for_tenant(tenant.pk).holding_any([memory.pk]).without_details())
    assert len(queries) == 1
    assert "candidates" not in queries[0]["sql"]


def test_receipt_names_the_memories_that_its_text_was_made_of() -> None:
    tenant, empty = bakery(), make_empty_tenant()
    for question in (QUESTION, "When does the warehouse close?"):
        assemble_test_context(tenant, question, max_tokens=80)
    assemble_test_context(empty, QUESTION)
    with tenant_scope(tenant.pk):
        for row in Receipt.objects.for_tenant(tenant.pk):
            assert row.memory_ids == [UUID(anchor.id) for anchor in receipt_anchors(row) if anchor.type == "memory"]
    assert list(memory_ids_by_receipt(empty).values()) == [[]]


@pytest.mark.parametrize("memory_ids", [[], [str(uuid4()), str(uuid4())]])
def test_inserted_receipt_is_the_one_that_save_would_store(memory_ids: list[str]) -> None:
    tenant = make_empty_tenant()
    odd = "He said: 'it''s {5,6} %s \\ \"ünïcode\" 🥐'\nand left"
    values: dict[str, Any] = {
        "tenant_id": tenant.pk,
        "created_at": CONTEXT_NOW,
        "query": odd,
        "partition_path": "user=alex",
        "request": {"query": odd, "nothing": None, "flag": True, "at": CONTEXT_NOW, "id": uuid4()},
        "profile": {},
        "budget_profile": {"name": "default", "version": 0},
        "budget": {"used": 3},
        "tokens_used": 3,
        "blocks": [["memory", 0], ["memory", 1, 5, 44]],
        "omitted": [],
        "candidates": "eJw=",
        "plan": {"ms": 0.25, "tiny": 1e-12},
        "warnings": [{"detail": odd}],
        "text_sha256": "0" * 64,
        "as_of": CONTEXT_NOW - DAY,
        "memory_ids": memory_ids,
    }
    saved, inserted = Receipt(**values), Receipt(**values)
    with tenant_scope(tenant.pk):
        saved.save(force_insert=True)
        Receipt.objects.insertion(inserted).run()
        one, other = (Receipt.objects.values().get(pk=row.pk) for row in (saved, inserted))
    assert one | {"id": None} == other | {"id": None}
    assert other["memory_ids"] == [UUID(pk) for pk in memory_ids]


def test_values_outside_json_are_refused_before_any_query() -> None:
    tenant = make_empty_tenant()
    with pytest.raises(TypeError):
        Receipt.objects.insertion(Receipt(tenant_id=tenant.pk, created_at=CONTEXT_NOW, request={"what": object()}))


def test_receipt_and_what_it_leaves_behind_are_one_statement() -> None:
    tenant = bakery()
    with CaptureQueriesContext(connection) as queries:
        given = assemble_test_context(tenant, QUESTION)
    inserts = [query["sql"] for query in queries if "INSERT" in query["sql"]]
    assert len(inserts) == 1
    with tenant_scope(tenant.pk):
        tick = RetrievalTick.objects.for_tenant(tenant.pk).get()
    assert memory_ids_by_receipt(tenant) == {given.id: tick.memory_ids}
    assert len(tick.recalled_hashes) == len(tick.memory_ids)
