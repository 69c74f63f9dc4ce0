"""Rows for tests, created as the product creates them: through the actions, in the tenant's scope."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

from memories.embeddings.indexer import index_memories
from memories.models import ApiKey, Memory, Tenant
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.store.actions.store import store_memories
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, tenant_scope

FACTORY_NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
TESTER = Actor.system("test")

_numbers = count(1)


def make_tenant(name: str = "", *, now: datetime = FACTORY_NOW) -> Tenant:
    """Return a tenant; without a name, it gets a new one."""
    with admin_write_scope():
        return create_tenant(name=name or f"tenant-{next(_numbers)}", by=TESTER, now=now)


def make_memory(
    tenant: Tenant, content: str = "", *, partition: str = "", is_embedded: bool = False, **fields: Any
) -> Memory:
    """Return a stored memory; `fields` are those of `NewMemory` and `store_memories`. `is_embedded` adds its vector."""
    actions: dict[str, Any] = {"now": FACTORY_NOW, "by": TESTER}
    actions |= {name: fields.pop(name) for name in ("now", "by", "refuses_recalled_text", "reach") if name in fields}
    text = content or f"memory number {next(_numbers)}"
    row = NewMemory(content=text, partition=parse_partition(partition), **fields)
    with tenant_scope(tenant.pk):
        (result,) = store_memories(tenant=tenant, rows=[row], **actions)
    assert result.memory is not None
    if is_embedded:
        index_memories(tenant.pk, [result.memory.pk])
    return reread_memory(result.memory)


def reread_memory(memory: Memory) -> Memory:
    """Return the memory as the database has it now."""
    with tenant_scope(memory.tenant_id):
        row: Memory = Memory.objects.for_tenant(memory.tenant_id).get(pk=memory.pk)
        return row


def make_key(
    tenant: Tenant, *scopes: str, partition: str = "", refuses_recalled_text: bool = True
) -> tuple[ApiKey, str]:
    """Return a key and its plain text; without scopes, it may read and write."""
    with tenant_scope(tenant.pk):
        return create_api_key(
            tenant=tenant,
            name="test key",
            scopes=scopes or ("read", "write"),
            partition=parse_partition(partition),
            refuses_recalled_text=refuses_recalled_text,
            by=TESTER,
            now=FACTORY_NOW,
        )
