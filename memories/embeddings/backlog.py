"""Embedding backlogs by tenant. Runs inside a scope that reads the tenants."""

from collections.abc import Collection
from uuid import UUID

from memories.models import Memory
from memories.tenancy.queries.backlogs import Backlog


def failed_embedding_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the memories whose text the embedder refused, which only words find. One query."""
    return Memory.objects.of_tenants(tenant_ids).with_failed_embedding().backlogs("recorded_from")


def waiting_embeddings(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the memories that have no vector yet. One query."""
    return Memory.objects.of_tenants(tenant_ids).unarchived().pending_embedding().backlogs("recorded_from")
