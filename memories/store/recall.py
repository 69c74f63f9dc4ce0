"""What contexts leave behind in this room, and what their readers say: retrievals, recalled texts, usefulness.

A context writes one row and waits for nobody; folding it into the memories is the worker's, seconds later (ADR-0066).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.db import transaction

from memories.models import Memory, RecalledText, RetrievalTick
from memories.services.store.recalled_text import RECALLED_TEXT_KEPT, recalled_hash
from memories.tenancy.queries.insertions import Insertion
from memories.tenancy.scopes import tenant_scope

#: Contexts that are folded in one transaction.
TICKS_PER_FOLD = 500

MemoryId = TypeVar("MemoryId", UUID, str)


def record_retrieval_tick(
    *,
    tenant_id: UUID,
    texts: Mapping[MemoryId, str],
    ids: Iterable[MemoryId],
    now: datetime,
    beside: Insertion | None = None,
) -> None:
    """Leave behind that the memories `ids` were packed and that `texts` (by memory) were rendered: one statement.

    Each memory counts as retrieved once, and its text, where one is given, is not stored again for 30 days. The row
    `beside`, the record of what was packed, is inserted by the same statement, also where nothing was.
    """
    hashes = dict.fromkeys(ids, "") | {memory_id: recalled_hash(text) for memory_id, text in texts.items()}
    if hashes:
        RetrievalTick.objects.insertion(tenant_id, hashes, now).beside(beside).run()
    elif beside is not None:
        beside.run()


def fold_tenant_retrievals(tenant_id: UUID) -> int:
    """Fold in what the contexts of a tenant left behind; how many there were. Called with no scope open.

    A transaction for each batch: a worker that is killed in between has counted all of it or none.
    """
    folded = 0
    while True:
        with tenant_scope(tenant_id):
            batch = RetrievalTick.objects.fold(tenant_id, TICKS_PER_FOLD)
        folded += batch
        if batch < TICKS_PER_FOLD:
            return folded


def recently_recalled_memories(*, tenant_id: UUID, hashes: Iterable[str], now: datetime) -> dict[str, UUID]:
    """The memories whose texts with these hashes were rendered in the last 30 days, by hash; folded in or not yet."""
    wanted, since = set(hashes), now - RECALLED_TEXT_KEPT
    folded = RecalledText.objects.for_tenant(tenant_id).with_hashes(wanted, since=since).order_by("recalled_at")
    return dict(folded.values_list("recalled_hash", "memory_id")) | RetrievalTick.objects.recalled_lately(
        tenant_id, wanted, since=since
    )


@transaction.atomic
def update_usefulness_scores(*, scores: Mapping[UUID, float]) -> int:
    """Give memories (by id) the usefulness that follows from the feedback on them; how many there were. Two queries.

    Opens no version: nobody changed the text. Raises `ValueError` for a score that is not a share.
    """
    if not all(0 <= score <= 1 for score in scores.values()):
        raise ValueError("usefulness is a share between 0 and 1")
    rows = list(Memory.objects.with_ids(scores).without_search_columns().locked())
    for row in rows:
        row.usefulness_score = scores[row.pk]
    Memory.objects.bulk_update(rows, ["usefulness_score"])
    return len(rows)
