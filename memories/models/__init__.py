"""Models of what is stored."""

from memories.models.embedding import EmbeddingModel, MissingVector
from memories.models.hygiene import HygieneAct, MemoryFinding, MemoryPair, UncomparedMemory
from memories.models.memory import Memory, MemoryEmbedding, MemoryLink, MemoryVersion, Partition
from memories.models.records import (
    AuditEntry,
    IdempotencyRecord,
    PartitionCount,
    PartitionCountChange,
    PartitionSummary,
    RecalledText,
    RetrievalTick,
    Snapshot,
    TenantMemo,
)
from memories.models.tenancy import (
    ApiKey,
    CommonLexeme,
    FirstSteps,
    Invitation,
    Membership,
    SavedView,
    SignInFailures,
    Tenant,
)

__all__ = ["ApiKey", "AuditEntry", "CommonLexeme", "EmbeddingModel", "FirstSteps", "HygieneAct", "IdempotencyRecord"]
__all__ += ["Invitation", "Membership", "Memory", "MemoryEmbedding", "MemoryFinding", "MemoryLink", "MemoryPair"]
__all__ += ["MemoryVersion", "MissingVector", "Partition", "PartitionCount", "PartitionCountChange", "PartitionSummary"]
__all__ += ["RecalledText", "RetrievalTick", "SavedView", "SignInFailures", "Snapshot", "Tenant", "TenantMemo"]
__all__ += ["UncomparedMemory"]
