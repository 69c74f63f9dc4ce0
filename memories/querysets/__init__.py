"""All SQL of what is stored, as named chainable methods."""

from memories.querysets.backlogs import Backlog
from memories.querysets.counts import PartitionCountChangeQuerySet, PartitionCountQuerySet
from memories.querysets.embedding import EmbeddingModelQuerySet, MissingVectorQuerySet
from memories.querysets.insertions import Insertion, array_text
from memories.querysets.lexemes import (
    DEFAULT_TEXT_SEARCH_CONFIG,
    CommonLexemeQuerySet,
    lexemes_in_reach,
    lexemes_of,
    lexemes_of_tenant,
    lexemes_of_words,
    text_search_configs,
)
from memories.querysets.memories import MemoryQuerySet
from memories.querysets.records import (
    AuditEntryQuerySet,
    IdempotencyRecordQuerySet,
    MemoryEmbeddingQuerySet,
    MemoryLinkQuerySet,
    PartitionSummaryQuerySet,
    RecalledTextQuerySet,
    SnapshotQuerySet,
    TenantMemoQuerySet,
)
from memories.querysets.rows import TenantRows, VersionedByRecordedTime
from memories.querysets.tenancy import (
    ApiKeyManager,
    MembershipQuerySet,
    PartitionQuerySet,
    TenantQuerySet,
    superusers,
    usernames_of,
    users_named,
)
from memories.querysets.texts import SEARCH_COLUMNS, MemoryTextQuerySet, Vector
from memories.querysets.ticks import RetrievalTickQuerySet
from memories.querysets.versions import MemoryVersionQuerySet

__all__ = [
    "DEFAULT_TEXT_SEARCH_CONFIG",
    "SEARCH_COLUMNS",
    "ApiKeyManager",
    "AuditEntryQuerySet",
    "Backlog",
    "CommonLexemeQuerySet",
    "EmbeddingModelQuerySet",
    "IdempotencyRecordQuerySet",
    "Insertion",
    "MembershipQuerySet",
    "MemoryEmbeddingQuerySet",
    "MemoryLinkQuerySet",
    "MemoryQuerySet",
    "MemoryTextQuerySet",
    "MemoryVersionQuerySet",
    "MissingVectorQuerySet",
    "PartitionCountChangeQuerySet",
    "PartitionCountQuerySet",
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
    "array_text",
    "lexemes_in_reach",
    "lexemes_of",
    "lexemes_of_tenant",
    "lexemes_of_words",
    "superusers",
    "text_search_configs",
    "usernames_of",
    "users_named",
]
