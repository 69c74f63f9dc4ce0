"""Models of the app `memories`."""

from memories.models.accounts import SecondFactor, SignInNotice
from memories.models.audit import AuditCheck, AuditEntry, AuditSeal, StoredAct, UnsealedAuditEntry
from memories.models.embedding import EmbeddingModel, MissingVector
from memories.models.hygiene import MemoryFinding, MemoryPair, UncomparedMemory
from memories.models.memory import Memory, MemoryEmbedding, MemoryLink, MemoryVersion, Partition
from memories.models.records import (
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

__all__ = ["ApiKey", "AuditCheck", "AuditEntry", "AuditSeal", "CommonLexeme", "EmbeddingModel", "FirstSteps"]
__all__ += ["IdempotencyRecord", "Invitation", "Membership", "Memory", "MemoryEmbedding", "MemoryFinding"]
__all__ += ["MemoryLink", "MemoryPair", "MemoryVersion", "MissingVector", "Partition", "PartitionCount"]
__all__ += ["PartitionCountChange", "PartitionSummary", "RecalledText", "RetrievalTick", "SavedView", "SecondFactor"]
__all__ += [
    "SignInFailures",
    "SignInNotice",
    "Snapshot",
    "StoredAct",
    "Tenant",
    "TenantMemo",
    "UncomparedMemory",
    "UnsealedAuditEntry",
]
