"""What of stored memories waits for somebody, by tenant. Inside a scope that reads the tenants."""

from collections.abc import Collection
from uuid import UUID

from memories.models import Memory
from memories.tenancy.queries.backlogs import Backlog


def failed_embedding_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Memories whose text the embedder refused: they are found by their words alone. One query."""
    return Memory.objects.of_tenants(tenant_ids).with_failed_embedding().backlogs("recorded_from")


def waiting_embeddings(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Memories that have no vector yet. One query."""
    return Memory.objects.of_tenants(tenant_ids).unarchived().pending_embedding().backlogs("recorded_from")
