"""Link and unlink memories. Ended links stay in history; links may form cycles."""

from datetime import datetime

from django.db import transaction

from memories.models import Memory, MemoryLink
from memories.services.store.drafts import is_kind_name
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound

#: Attempts while concurrent writers create and end the same link.
DRAW_ATTEMPTS = 3


@transaction.atomic
def link_memories(*, source: Memory, target: Memory, kind: str, by: Actor, now: datetime) -> MemoryLink:
    """Create the link of `kind` from `source` to `target`, or return the existing one."""
    if not is_kind_name(kind):
        raise InvalidInput("bad_kind", "The kind of a link is a lower-case word of at most 32 characters.", "kind")
    if source.pk == target.pk:
        raise InvalidInput("same_memory", "A memory cannot be linked to itself.", "target_id")
    if source.tenant_id != target.tenant_id:
        raise NotFound("not_found", "There is no such memory.")
    edges = MemoryLink.objects.for_tenant(source.tenant_id).current().from_memory(source.pk).to_memory(target.pk)
    for _ in range(DRAW_ATTEMPTS):
        link = MemoryLink(tenant_id=source.tenant_id, source=source, target=target, kind=kind, recorded_from=now)
        MemoryLink.objects.bulk_create([link], ignore_conflicts=True)
        stored: MemoryLink | None = edges.of_kind(kind).first()
        if stored is not None:
            if stored.recorded_from == now:
                _audit(stored, "link_memories", by, now)
            return stored
    raise Conflict("busy", "The same link is being created and ended at this moment. Try again.")


@transaction.atomic
def unlink_memories(*, link: MemoryLink, by: Actor, now: datetime) -> MemoryLink:
    """End the link, not before its start; an ended one stays as it is."""
    at = max(now, link.recorded_from)
    ended = MemoryLink.objects.for_tenant(link.tenant_id).current().filter(pk=link.pk).update(recorded_to=at)
    if ended:
        link.recorded_to = at
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
