"""Looking a text up in all that a tenant has: what the search field in the frame of every page shows."""

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

#: How many of each the field offers; the lists have the others.
SHOWN_MAX = 5
SEARCH_CHARACTERS_MIN = 2


@dataclass(frozen=True)
class GlobalSearchResults:
    """What was found, at most `SHOWN_MAX` of each: memories best first, paths in order, the others newest first."""

    memories: Sequence[Memory] = ()
    receipts: Sequence[Receipt] = ()
    sessions: Sequence[Session] = ()
    partitions: Sequence[str] = ()


def search_everything(tenant_id: UUID, text: str, *, now: datetime) -> GlobalSearchResults:
    """Memories by id or words, contexts by id or question, sessions by id, partitions by path; inside a scope.

    One query a group, for memories another that cuts the words; where a text that may be an id is none, the words
    take one more.
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
