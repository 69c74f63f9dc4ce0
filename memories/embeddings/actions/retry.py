"""Retry texts that a provider refused, after a change of the model or its limits."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories import tasks
from memories.models import Memory, Tenant
from memories.tenancy.audit import Actor, record_audit


@transaction.atomic
def retry_embeddings(
    *, tenant: Tenant, memory_ids: Iterable[UUID] | None = None, by: Actor, now: datetime
) -> list[UUID]:
    """Make memories whose embedding failed (all, or those of `memory_ids`) pending again; return their ids."""
    failed = Memory.objects.for_tenant(tenant.pk).with_failed_embedding()
    wanted = failed if memory_ids is None else failed.with_ids(memory_ids)
    ids = list(wanted.locked().values_list("pk", flat=True))
    if ids:
        Memory.objects.filter(pk__in=ids).update(embedding_state=Memory.EmbeddingState.PENDING, embedding_error="")
        record_audit(
            tenant_id=tenant.pk,
            by=by,
            verb="retry_embeddings",
            target_kind="memory",
            target_ids=ids,
            fields=["embedding_state"],
            now=now,
        )
        tasks.enqueue_embedding(tenant.pk, ids)
    return ids
