"""Helpers of the tests of assembly: a tenant with embedded memories, and a short way to request a context."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.receipts.results import AssembledContext, ContextRequest
from memories.embeddings.indexer import index_memories
from memories.models import Memory, Tenant
from memories.partitions.actions import set_tenant_memo
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.services.tokens import count_tokens
from memories.store.actions.store import store_memories
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, tenant_scope

CONTEXT_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SYSTEM = Actor.system("tests")

BAKERY = [
    ("Alex bakes sourdough bread every Saturday morning.", "user=alex"),
    ("Alex prefers rye flour over wheat flour.", "user=alex/topic=food"),
    ("The oven must be preheated to 250 degrees.", "user=alex/topic=food"),
    ("Alex's sister Mina lives in Lisbon.", "user=alex/topic=family"),
    ("Sam collects vintage motorcycles.", "user=sam"),
    ("The warehouse closes at six in the evening.", ""),
]


def make_empty_tenant(name: str = "") -> Tenant:
    """A tenant without memories."""
    with admin_write_scope():
        return create_tenant(name=name or f"tenant {uuid4()}", by=SYSTEM, now=CONTEXT_NOW)


def new_row(content: str, partition: str = "", **fields: Any) -> NewMemory:
    """A memory that is a month old unless `created_at` is given."""
    fields.setdefault("created_at", CONTEXT_NOW - timedelta(days=30))
    return NewMemory(content=content, partition=parse_partition(partition), **fields)


def store(tenant: Tenant, rows: Iterable[NewMemory], *, is_embedded: bool = True) -> list[Memory]:
    """Store the rows and embed them, as a request does after its commit."""
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=list(rows), by=SYSTEM, now=CONTEXT_NOW - timedelta(days=1))
    memories = [result.memory for result in results if result.memory]
    if is_embedded:
        index_memories(tenant.pk, [memory.pk for memory in memories])
    return memories


def bakery(memo: str = "You help in a bakery.") -> Tenant:
    """A tenant with six memories in five partitions and a memo."""
    tenant = make_empty_tenant()
    store(tenant, [new_row(content, partition) for content, partition in BAKERY])
    with tenant_scope(tenant.pk):
        set_tenant_memo(tenant=tenant, content=memo, by=SYSTEM, now=CONTEXT_NOW - timedelta(days=1))
    return tenant


def assemble_test_context(
    tenant: Tenant,
    query: str = "",
    *,
    reach: str = "",
    actor: Actor = SYSTEM,
    now: datetime = CONTEXT_NOW,
    **options: Any,
) -> AssembledContext:
    """A context for `query`."""
    request = ContextRequest(query=query, **options)
    return assemble_context(request, ContextCaller(tenant.pk, actor, now, reach))


def block_texts(context: AssembledContext) -> list[str]:
    """Return the texts of the blocks, in the order of the text."""
    return [block.text for block in context.blocks]


def warning_codes(context: AssembledContext) -> list[str]:
    """Return the codes of the warnings."""
    return [notice.code for notice in context.warnings]


def recounted(context: AssembledContext) -> int:
    """Return the tokens of the text, counted by tiktoken itself."""
    return count_tokens(context.text, "o200k_base")


def comparable(context: AssembledContext) -> dict[str, Any]:
    """Return the explained response without its timings."""
    return context.as_answer(explain=True) | {"timings": {}}
