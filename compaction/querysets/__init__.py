"""All SQL of sessions and of compaction, as named chainable methods."""

from compaction.querysets.compactions import (
    SETTLED_AT,
    CompactionMemberQuerySet,
    CompactionPromptQuerySet,
    CompactionQuerySet,
)
from compaction.querysets.runs import ProviderBreakerQuerySet, RunQuerySet
from compaction.querysets.sessions import MessageQuerySet, SessionQuerySet

__all__ = [
    "SETTLED_AT",
    "CompactionMemberQuerySet",
    "CompactionPromptQuerySet",
    "CompactionQuerySet",
    "MessageQuerySet",
    "ProviderBreakerQuerySet",
    "RunQuerySet",
    "SessionQuerySet",
]
