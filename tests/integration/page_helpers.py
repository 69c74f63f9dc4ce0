"""Helpers of the tests of operator pages: a signed-in operator, and pages requested as htmx requests them."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.embeddings.indexer import index_memories
from memories.models import Memory, Snapshot, Tenant
from memories.partitions.actions import create_snapshot, set_tenant_memo
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.store.actions.store import store_memories
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope

HTMX = {"HX-Request": "true"}
TESTER = Actor.system("tests")

WORKSHOP = [
    ("The torque sensor of the Otter 3 is swapped in 45 minutes.", "agent=service", "procedure"),
    ("ERR_4012 means that the plug of the torque sensor is wet.", "agent=service", "fact"),
    ("Customers with ERR_4012 pay nothing for the swap.", "agent=support", "fact"),
    ("Frau Brodersen prefers e-mail.", "agent=support/user=c-1", "preference"),
    ("The Kiel workshop closes at six in the evening.", "agent=support", "fact"),
]


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def store_memories_for_pages(
    tenant: Tenant, *rows: tuple[str, str, str], now: datetime | None = None, **fields: Any
) -> list[Memory]:
    """Store memories (text, partition, kind) and embed them."""
    at = now or timezone.now() - timedelta(days=1)
    drafts = [NewMemory(text, partition=parse_partition(path), kind=kind, **fields) for text, path, kind in rows]
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=drafts, by=TESTER, now=at)
    ids = [result.memory.pk for result in results if result.memory]
    index_memories(tenant.pk, ids)
    with tenant_scope(tenant.pk):
        stored = Memory.objects.for_tenant(tenant.pk).in_bulk(ids)
    return [stored[memory_id] for memory_id in ids]


def make_bakery_memories(tenant: Tenant) -> list[Memory]:
    """Store five memories and a memo to show."""
    with tenant_scope(tenant.pk):
        set_tenant_memo(tenant=tenant, content="We repair cargo bikes.", by=TESTER, now=timezone.now())
    return store_memories_for_pages(tenant, *WORKSHOP)


def make_snapshot(tenant: Tenant, name: str, ago: timedelta = timedelta()) -> Snapshot:
    """A snapshot of a time this long ago."""
    with tenant_scope(tenant.pk):
        now = timezone.now()
        return create_snapshot(tenant=tenant, name=name, recorded_at=now - ago, by=TESTER, now=now)


def as_stored(memory: Memory) -> Memory:
    with tenant_scope(memory.tenant_id):
        return Memory.objects.for_tenant(memory.tenant_id).get(pk=memory.pk)


def page(name: str, tenant: Tenant, *more: object) -> str:
    return reverse(name, args=[tenant.pk, *more])


def text_of(response: Any) -> str:
    return str(response.content.decode())


def undo_of(response: Any) -> str:
    """Return where the Undo button of the message on a page leads."""
    found = re.search(r'action="([^"]+)">(?:(?!</form>).)*Undo</button>', text_of(response), re.DOTALL)
    assert found, "the page offers no Undo"
    return unescape(found[1])
