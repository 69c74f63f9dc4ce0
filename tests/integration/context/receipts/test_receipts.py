"""Receipts: what is stored of a context, and how its text is rendered again."""

import json
import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.models import Receipt
from context.receipts import storing
from context.receipts.storing import StoredContext, read_receipt
from memories.models import Memory, Tenant
from memories.partitions.actions import set_tenant_memo
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    bakery,
    block_texts,
    make_empty_tenant,
    new_row,
    store,
)

pytestmark = pytest.mark.django_db

QUESTION = "What flour does Alex like?"


def read(tenant: Tenant, receipt_id: uuid.UUID | None, reach: str = "") -> StoredContext:
    assert receipt_id is not None
    with tenant_scope(tenant.pk):
        return read_receipt(tenant_id=tenant.pk, receipt_id=receipt_id, reach=reach)


def row_of(tenant: Tenant, receipt_id: uuid.UUID | None) -> Receipt:
    with tenant_scope(tenant.pk):
        row: Receipt = Receipt.objects.for_tenant(tenant.pk).get(pk=receipt_id)
        return row


@pytest.mark.parametrize("render", ["markdown", "xml", "json"])
@pytest.mark.parametrize("ordering", ["top_down", "u_curve"])
def test_receipt_gives_the_context_back(render: str, ordering: str) -> None:
    tenant = bakery()
    given = assemble_test_context(tenant, QUESTION, render=render, ordering=ordering, max_tokens=90)
    stored = read(tenant, given.id)
    assert stored.is_verified
    assert stored.context.text == given.text
    assert stored.context.as_answer(explain=True) | {"timings": 0} == given.as_answer(explain=True) | {"timings": 0}
    assert stored.as_answer()["request"]["query"] == QUESTION
    assert stored.as_answer()["created_at"] == CONTEXT_NOW.isoformat()
    json.dumps(stored.as_answer(explain=True))


def test_receipt_of_an_empty_context_is_read_back() -> None:
    tenant = make_empty_tenant()
    given = assemble_test_context(tenant, QUESTION)
    assert read(tenant, given.id).context.text == ""
    assert read(tenant, given.id).is_verified


def test_text_is_given_back_through_edits_archives_and_a_new_memo() -> None:
    tenant = bakery()
    given = assemble_test_context(tenant, QUESTION)
    with tenant_scope(tenant.pk):
        first, second, third, *_ = list(Memory.objects.for_tenant(tenant.pk).order_by("pk"))
        update_memory(memory=first, changes={"content": "Rewritten."}, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=1))
        update_memory(
            memory=first, changes={"content": "Rewritten again."}, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=2)
        )
        archive_memory(memory=second, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=1))
        update_memory(memory=third, changes={"confidence": 0.1}, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=1))
        set_tenant_memo(tenant=tenant, content="Another memo.", by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=1))
    stored = read(tenant, given.id)
    assert stored.is_verified
    assert stored.context.text == given.text
    assert block_texts(assemble_test_context(tenant, QUESTION, preview=True)) != block_texts(given)


def test_context_whose_memory_was_erased_is_reported_as_different() -> None:
    tenant = bakery()
    given = assemble_test_context(tenant, QUESTION)
    gone = next(block.anchor.id for block in given.blocks if block.anchor.type == "memory")
    with tenant_scope(tenant.pk):
        Memory.objects.for_tenant(tenant.pk).filter(pk=gone).delete()
    stored = read(tenant, given.id)
    assert not stored.is_verified
    assert len(stored.context.blocks) == len(given.blocks) - 1


def test_another_secret_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = bakery()
    given = assemble_test_context(tenant, QUESTION)
    # only where receipts are read: the database knows the secret that signs its row scopes
    monkeypatch.setattr(storing, "settings", SimpleNamespace(SECRET_KEY="another secret"))
    assert not read(tenant, given.id).is_verified


def test_receipt_contains_no_text_of_a_memory() -> None:
    tenant = bakery()
    row = row_of(tenant, assemble_test_context(tenant, QUESTION, max_tokens=80).id)
    kept = json.dumps([row.blocks, row.omitted, row.candidates, row.plan, row.warnings, row.request, row.budget])
    assert "rye" not in kept
    assert "bakery" not in kept
    assert len(row.text_sha256) == 64


def test_receipt_names_the_requesting_key() -> None:
    tenant = bakery()
    with tenant_scope(tenant.pk):
        key, _ = create_api_key(tenant=tenant, name="agent", scopes=["write"], by=SYSTEM, now=CONTEXT_NOW)
    assert row_of(tenant, assemble_test_context(tenant, QUESTION, actor=Actor.key(key)).id).api_key_id == key.pk
    assert row_of(tenant, assemble_test_context(tenant, QUESTION, actor=Actor.operator(1, "Kim")).id).api_key_id is None


def test_key_reads_only_receipts_within_its_reach() -> None:
    tenant = bakery()
    alex = assemble_test_context(tenant, QUESTION, partition="user=alex/topic=food").id
    whole = assemble_test_context(tenant, QUESTION).id
    sibling = assemble_test_context(tenant, QUESTION, partition="user=alexander").id
    assert read(tenant, alex, "user=alex").context.id == alex
    for hidden in (whole, sibling):
        with pytest.raises(NotFound):
            read(tenant, hidden, "user=alex")


def test_another_tenants_receipt_is_not_found() -> None:
    given = assemble_test_context(bakery(), QUESTION)
    with pytest.raises(NotFound):
        read(make_empty_tenant(), given.id)


def test_reading_a_receipt_takes_the_same_queries_however_many_blocks_it_has() -> None:
    tenant = bakery()
    counts = []
    for extra in (0, 40):
        store(tenant, [new_row(f"Loaf {n} takes flour.") for n in range(extra)])
        given = assemble_test_context(tenant, QUESTION)
        with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
            read_receipt(tenant_id=tenant.pk, receipt_id=given.id or uuid.uuid4(), reach="")
        counts.append(len(queries))
    assert counts == [4, 4]
