"""Edges between memories; an edge that was taken away stays in history."""

from datetime import datetime

from django.db import transaction

from memories.audit import Actor, record_audit
from memories.exceptions import InvalidInput, NotFound
from memories.models import Memory, MemoryLink
from memories.services.drafts import is_word


@transaction.atomic
def link_memories(*, source: Memory, target: Memory, kind: str, by: Actor, now: datetime) -> MemoryLink:
    """The edge of `kind` from `source` to `target`; one that is there already stays as it is."""
    if not is_word(kind):
        raise InvalidInput("bad_kind", "The kind of a link is a lower-case word of at most 32 characters.", "kind")
    if source.pk == target.pk:
        raise InvalidInput("same_memory", "A memory cannot be linked to itself.", "target_id")
    if source.tenant_id != target.tenant_id:
        raise NotFound("not_found", "There is no such memory.")
    link = MemoryLink(tenant_id=source.tenant_id, source=source, target=target, kind=kind, recorded_from=now)
    MemoryLink.objects.bulk_create([link], ignore_conflicts=True)
    edges = MemoryLink.objects.for_tenant(source.tenant_id).current().from_memory(source.pk)
    stored: MemoryLink = edges.get(target_id=target.pk, kind=kind)
    if stored.recorded_from == now:
        _audit(stored, "link_memories", by, now)
    return stored


@transaction.atomic
def unlink_memories(*, link: MemoryLink, by: Actor, now: datetime) -> MemoryLink:
    """End the edge; one that has ended stays as it is."""
    ended = MemoryLink.objects.for_tenant(link.tenant_id).current().filter(pk=link.pk).update(recorded_to=now)
    if ended:
        link.recorded_to = now
        _audit(link, "unlink_memories", by, now)
    return link


def _audit(link: MemoryLink, verb: str, by: Actor, now: datetime) -> None:
    record_audit(
        tenant_id=link.tenant_id,
        by=by,
        verb=verb,
        target_kind="memory",
        target_ids=[link.source_id, link.target_id],
        fields=["links"],
        now=now,
    )
