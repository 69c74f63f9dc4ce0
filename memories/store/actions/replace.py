"""Replace memories: the newer one ends the valid interval of the older one and links to it (ADR-0103)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import Memory, MemoryLink, MemoryPair, StoredAct
from memories.services.hygiene.rules import REPLACED, replacement_hash
from memories.services.store.drafts import SUPERSEDES
from memories.store.bulk_rows import close_rows, undo_values
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict


@transaction.atomic
def replace_memories(
    *, tenant_id: UUID, replaced: Mapping[UUID, Collection[UUID]], by: Actor, now: datetime
) -> list[StoredAct]:
    """End the older memories of each newer one (newer -> older), link the newer to them; one act per older memory.

    An older memory is no longer live, and its valid time ends where that of the newer one begins. A constant number of
    queries. Raises `Conflict` `archived` if an older memory is no longer live.
    """
    successors = {older: newer for newer, ids in replaced.items() for older in ids if older != newer}
    if not successors:
        return []
    rows = list(Memory.objects.for_tenant(tenant_id).with_ids(successors).locked())
    if len(rows) < len(successors) or any(row.archived_at is not None for row in rows):
        raise Conflict("archived", "A memory to replace was archived in the meantime. Read it again.", SUPERSEDES)
    newer = Memory.objects.for_tenant(tenant_id).in_bulk(set(successors.values()))
    acts = {
        row.pk: StoredAct(
            tenant_id=tenant_id,
            act=StoredAct.Act.REPLACE,
            at=now,
            archived_ids=[row.pk],
            changed=undo_values([row], "archived_at", after=now),
        )
        for row in rows
    }
    close_rows(rows, {older: newer[pk].valid_from for older, pk in successors.items()}, now)
    for (_, older_id), link_id in _link(tenant_id, successors, now).items():
        acts[older_id].link_ids = [link_id]
    for older_id, pair_id in _list(tenant_id, rows, successors, now).items():
        acts[older_id].pair_ids = [pair_id]
    for older_id, act in acts.items():
        ids = [successors[older_id], older_id]
        record_audit(
            "replace_memories", "memory", ids, tenant_id=tenant_id, fields=["valid_to"], act_id=act.pk, by=by, now=now
        )
    return StoredAct.objects.bulk_create(acts.values())


def _link(tenant_id: UUID, successors: Mapping[UUID, UUID], now: datetime) -> dict[tuple[UUID, UUID], int]:
    """Link each newer memory to the older one; return the ids of the links by their ends."""
    links = [
        MemoryLink(tenant_id=tenant_id, source_id=newer, target_id=older, kind=SUPERSEDES, recorded_from=now)
        for older, newer in successors.items()
    ]
    MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    stored = MemoryLink.objects.for_tenant(tenant_id).current().of_kind(SUPERSEDES)
    found = stored.filter(target_id__in=list(successors)).values_list("source_id", "target_id", "pk")
    return {(source, target): pk for source, target, pk in found if successors[target] == source}


def _list(tenant_id: UUID, rows: Sequence[Memory], successors: Mapping[UUID, UUID], now: datetime) -> dict[UUID, int]:
    """Add the pairs to the hygiene list; return their ids by that of the older memory."""
    pairs = [
        (REPLACED, row.pk, successors[row.pk], None, replacement_hash(row.pk, successors[row.pk], now)) for row in rows
    ]
    stored = MemoryPair.objects.for_tenant(tenant_id)
    stored.store(tenant_id, pairs, now)
    found = stored.of_kind(REPLACED).filter(older_id__in=list(successors)).values_list("older_id", "newer_id", "pk")
    return {older: pk for older, other, pk in found if other == successors[older]}
