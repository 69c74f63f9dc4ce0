"""All SQL of what is stored, as named chainable methods."""

from memories.querysets.conditions import AnyLexeme, lexemes_of
from memories.querysets.memories import MemoryQuerySet, Vector
from memories.querysets.records import (
    AuditEntryQuerySet,
    IdempotencyRecordQuerySet,
    MemoryEmbeddingQuerySet,
    MemoryLinkQuerySet,
    MemoryVersionQuerySet,
    PartitionSummaryQuerySet,
    RecalledTextQuerySet,
    RetrievalTickQuerySet,
    SnapshotQuerySet,
    TenantMemoQuerySet,
)
from memories.querysets.rows import TenantRows, VersionedByRecordedTime
from memories.querysets.tenancy import ApiKeyManager, MembershipQuerySet, PartitionQuerySet, TenantQuerySet

__all__ = [
    "AnyLexeme",
    "ApiKeyManager",
    "AuditEntryQuerySet",
    "IdempotencyRecordQuerySet",
    "MembershipQuerySet",
    "MemoryEmbeddingQuerySet",
    "MemoryLinkQuerySet",
    "MemoryQuerySet",
    "MemoryVersionQuerySet",
    "PartitionQuerySet",
    "PartitionSummaryQuerySet",
    "RecalledTextQuerySet",
    "RetrievalTickQuerySet",
    "SnapshotQuerySet",
    "TenantMemoQuerySet",
    "TenantQuerySet",
    "TenantRows",
    "Vector",
    "VersionedByRecordedTime",
    "lexemes_of",
]
