"""Search all data of a tenant, for the search field of every page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from compaction.models import Message, Session
from context.models import Receipt
from memories.models import ApiKey, Partition
from memories.search.browsing import find_memories_by_id_or_text, suggested_memories
from memories.services.tenancy.id_prefix import id_prefix_bounds
from memories.tenancy.audit import Actor
from memories.tenancy.queries.rows import TenantRows

#: Maximum results of each kind; the lists show the others.
SHOWN_MAX = 5
SEARCH_CHARACTERS_MIN = 2


@dataclass(frozen=True)
class GlobalSearchResult:
    """One search result: its URL, text and detail."""

    address: str
    text: str
    detail: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class SearchGroup:
    """At most `SHOWN_MAX` results of one kind, and the page that lists all of that kind, if there is one."""

    name: str
    title: str
    hits: Sequence[GlobalSearchResult]
    all_address: str = ""
    all_text: str = ""


def search_everything(
    tenant_id: UUID, text: str, *, is_admin: bool, now: datetime, by: Actor | None = None
) -> list[SearchGroup]:
    """Return memories, contexts, sessions, partitions and, for admins, API keys; up to eight queries.

    The first three are found by id or text. `by` is who submitted the text, None while it is being typed.
    """
    if len(text) < SEARCH_CHARACTERS_MIN:
        return []
    logged = Receipt.objects.for_tenant(tenant_id).without_details().newest_first()
    contexts = [
        GlobalSearchResult(
            address_in(tenant_id, "receipt", row.pk), row.query or "No query", row.partition_path, row.created_at
        )
        for row in _by_id(logged, text) or logged.asking(text)[:SHOWN_MAX]
    ]
    paths = Partition.objects.for_tenant(tenant_id).path_containing(text).paths(SHOWN_MAX)
    partitions = [GlobalSearchResult(address_in(tenant_id, "partitions", partition=path), path) for path in paths]
    groups = [
        memory_group(tenant_id, text, by=by, now=now),
        SearchGroup(
            "receipts", "Context log", contexts, address_in(tenant_id, "context-log", q=text), "Search all contexts"
        ),
        session_group(tenant_id, text),
        SearchGroup(
            "partitions", "Partitions", partitions, address_in(tenant_id, "partitions", q=text), "All partitions"
        ),
        *([key_group(tenant_id, text)] if is_admin else []),
    ]
    return [group for group in groups if group.hits]


def address_in(tenant_id: UUID, name: str, *more: object, **query: str) -> str:
    """Return the URL of a page of the tenant, with a query string."""
    return reverse(name, args=[tenant_id, *more], query=query)


def memory_group(tenant_id: UUID, text: str, *, now: datetime, by: Actor | None = None) -> SearchGroup:
    """Return memories by id or words; inside a scope. With `by`, who submitted the text, it stores an audit entry."""
    if by is None:
        memories = suggested_memories(tenant_id, text, count=SHOWN_MAX, now=now)
    else:
        memories = find_memories_by_id_or_text(tenant_id, text, count=SHOWN_MAX, by=by, now=now)
    hits = [
        GlobalSearchResult(address_in(tenant_id, "memory", row.pk), row.content, row.partition_path) for row in memories
    ]
    return SearchGroup("memories", "Memories", hits, address_in(tenant_id, "memories", q=text), "Search all memories")


def session_group(tenant_id: UUID, text: str) -> SearchGroup:
    """Return sessions by id or the words of a message; inside a scope."""
    rows = Session.objects.for_tenant(tenant_id).with_titles().newest_first()
    messages = Message.objects.for_tenant(tenant_id).containing_text(text)
    hits = [
        GlobalSearchResult(address_in(tenant_id, "session", row.pk), row.title, row.partition_path, row.created_at)
        for row in _by_id(rows, text) or rows.with_messages(messages)[:SHOWN_MAX]
    ]
    return SearchGroup("sessions", "Sessions", hits, address_in(tenant_id, "sessions"), "All sessions")


def key_group(tenant_id: UUID, text: str) -> SearchGroup:
    """Return API keys by a part of their name or the prefix of the key; inside a scope."""
    address = address_in(tenant_id, "api-keys")
    rows = ApiKey.objects.for_tenant(tenant_id).named_like(text)[:SHOWN_MAX]
    hits = [GlobalSearchResult(f"{address}#key-{row.prefix}", row.name, row.partition_prefix) for row in rows]
    return SearchGroup("keys", "API keys", hits, address, "All API keys")


def _by_id(rows: TenantRows, text: str) -> list[Any]:
    bounds = id_prefix_bounds(text)
    return list(rows.with_id_between(*bounds)[:SHOWN_MAX]) if bounds else []
