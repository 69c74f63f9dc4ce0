"""Many concurrent contexts over the same memories: none waits forever, and every retrieval is counted."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from context.models import Receipt
from context.receipts.results import AssembledContext
from memories.models import Memory
from memories.store.recall import fold_tenant_retrievals
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import BAKERY, assemble_test_context, bakery, warning_codes

pytestmark = pytest.mark.django_db(transaction=True)

CONTEXTS = 24


def test_contexts_over_the_same_memories_neither_deadlock_nor_lose_a_count() -> None:
    tenant = bakery()
    queries = ["What flour does Alex like?", "Where does Mina live?", "When does the warehouse close?", ""]

    def one(number: int) -> AssembledContext:
        try:
            return assemble_test_context(
                tenant, queries[number % len(queries)], ordering="u_curve" if number % 2 else "top_down"
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        contexts = list(pool.map(one, range(CONTEXTS)))
    assert not [code for context in contexts for code in warning_codes(context)]
    packed = sum(block.anchor.type == "memory" for context in contexts for block in context.blocks)
    assert fold_tenant_retrievals(tenant.pk) == CONTEXTS
    with tenant_scope(tenant.pk):
        counts = list(Memory.objects.for_tenant(tenant.pk).values_list("retrieval_count", flat=True))
        assert Receipt.objects.for_tenant(tenant.pk).row_count() == CONTEXTS
    assert sum(counts) == packed
    assert len(counts) == len(BAKERY)
