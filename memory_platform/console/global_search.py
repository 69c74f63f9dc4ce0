"""Search for a text in all that a tenant has, for the search field of every page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from compaction.models import Session
from context.models import Receipt
from memories.models import Memory, Partition
from memories.search.browsing import find_memories_by_id_or_text
from memories.services.tenancy.id_prefix import id_prefix_bounds
from memories.tenancy.queries.rows import TenantRows

#: Results of each kind; the lists show the rest.
SHOWN_MAX = 5
SEARCH_CHARACTERS_MIN = 2


@dataclass(frozen=True)
class GlobalSearchResults:
    """At most `SHOWN_MAX` results of each kind: memories best first, paths in order, the others newest first."""

    memories: Sequence[Memory] = ()
    receipts: Sequence[Receipt] = ()
    sessions: Sequence[Session] = ()
    partitions: Sequence[str] = ()


def search_everything(tenant_id: UUID, text: str, *, now: datetime) -> GlobalSearchResults:
    """Return memories by id or text, contexts by id or question, sessions by id, partitions by path; inside a scope.

    One query for each kind, one more for the words of memories, and one more where a text that may be an id is none.
    """
    if len(text) < SEARCH_CHARACTERS_MIN:
        return GlobalSearchResults()
    receipts = Receipt.objects.for_tenant(tenant_id).without_details().newest_first()
    return GlobalSearchResults(
        memories=find_memories_by_id_or_text(tenant_id, text, count=SHOWN_MAX, now=now),
        receipts=_by_id(receipts, text) or list(receipts.asking(text)[:SHOWN_MAX]),
        sessions=_by_id(Session.objects.for_tenant(tenant_id).with_titles().newest_first(), text),
        partitions=Partition.objects.for_tenant(tenant_id).holding(text).paths(SHOWN_MAX),
    )


def _by_id(rows: TenantRows, text: str) -> list[Any]:
    bounds = id_prefix_bounds(text)
    return list(rows.with_id_between(*bounds)[:SHOWN_MAX]) if bounds else []
