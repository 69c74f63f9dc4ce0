"""Search all data of a tenant, for the search field of every page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from compaction.models import Session
from context.models import Receipt
from memories.models import Partition
from memories.search.browsing import find_memories_by_id_or_text
from memories.services.tenancy.id_prefix import id_prefix_bounds
from memories.tenancy.queries.rows import TenantRows

#: Results of each kind; the lists show the rest.
SHOWN_MAX = 5
SEARCH_CHARACTERS_MIN = 2


@dataclass(frozen=True)
class GlobalSearchResult:
    """One search result: its address, text and detail."""

    address: str
    text: str
    detail: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class SearchGroup:
    """At most `SHOWN_MAX` results of one kind, and the page that lists all of that kind."""

    name: str
    title: str
    hits: Sequence[GlobalSearchResult]
    all_address: str
    all_text: str


def search_everything(tenant_id: UUID, text: str, *, now: datetime) -> list[SearchGroup]:
    """Return memories by id or text, contexts by id or query, sessions by id, partitions by path; up to six queries."""
    if len(text) < SEARCH_CHARACTERS_MIN:
        return []

    def at(name: str, *more: object, **query: str) -> str:
        address = reverse(name, args=[tenant_id, *more])
        return f"{address}?{urlencode(query)}" if query else address

    memories = [
        GlobalSearchResult(at("memory", row.pk), row.content, row.partition_path)
        for row in find_memories_by_id_or_text(tenant_id, text, count=SHOWN_MAX, now=now)
    ]
    logged = Receipt.objects.for_tenant(tenant_id).without_details().newest_first()
    contexts = [
        GlobalSearchResult(at("receipt", row.pk), row.query or "No query", row.partition_path, row.created_at)
        for row in _by_id(logged, text) or logged.asking(text)[:SHOWN_MAX]
    ]
    sessions = [
        GlobalSearchResult(at("session", row.pk), row.title, row.partition_path, row.created_at)
        for row in _by_id(Session.objects.for_tenant(tenant_id).with_titles().newest_first(), text)
    ]
    paths = Partition.objects.for_tenant(tenant_id).holding(text).paths(SHOWN_MAX)
    partitions = [GlobalSearchResult(at("partitions", partition=path), path) for path in paths]
    groups = (
        SearchGroup("memories", "Memories", memories, at("memories", q=text), "Search all memories"),
        SearchGroup("receipts", "Context log", contexts, at("context-log", q=text), "Search all contexts"),
        SearchGroup("sessions", "Sessions", sessions, at("sessions"), "All sessions"),
        SearchGroup("partitions", "Partitions", partitions, at("partitions", q=text), "All partitions"),
    )
    return [group for group in groups if group.hits]


def _by_id(rows: TenantRows, text: str) -> list[Any]:
    bounds = id_prefix_bounds(text)
    return list(rows.with_id_between(*bounds)[:SHOWN_MAX]) if bounds else []
