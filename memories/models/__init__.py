"""Models of what is stored."""

from memories.models.audit import AuditCheck, AuditEntry, AuditSeal, UnsealedAuditEntry
from memories.models.embedding import EmbeddingModel, MissingVector
from memories.models.hygiene import HygieneAct, MemoryFinding, MemoryPair, UncomparedMemory
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
from memories.models.tenancy import ApiKey, CommonLexeme, Membership, SignInFailures, Tenant

__all__ = ["ApiKey", "AuditCheck", "AuditEntry", "AuditSeal", "CommonLexeme", "EmbeddingModel", "HygieneAct"]
__all__ += ["IdempotencyRecord", "Membership"]
__all__ += ["Memory", "MemoryEmbedding", "MemoryFinding", "MemoryLink", "MemoryPair", "MemoryVersion"]
__all__ += ["MissingVector", "Partition", "PartitionCount", "PartitionCountChange", "PartitionSummary"]
__all__ += ["RecalledText", "RetrievalTick", "SignInFailures", "Snapshot", "Tenant", "TenantMemo", "UncomparedMemory"]
__all__ += ["UnsealedAuditEntry"]
