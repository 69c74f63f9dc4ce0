"""Operator pages about what is stored: memories, what is wrong with them, the memo, summaries, snapshots."""

from memories.views.audit import audit_log
from memories.views.bulk import memory_bulk, memory_bulk_undo
from memories.views.embeddings import embedding_retire, embedding_retry, embedding_switch, embeddings
from memories.views.hygiene import hygiene, hygiene_act, hygiene_progress, hygiene_undo
from memories.views.keys import api_key_revoke, api_keys
from memories.views.memories import archive, memory, pin, restore, restore_version, unpin
from memories.views.memory_list import memories
from memories.views.merging import memory_merge
from memories.views.places import memo, summaries, summary_again, summary_withdraw, text_tokens
from memories.views.snapshots import snapshot, snapshot_delete, snapshots
from memories.views.tenant_settings import member_add, member_remove, tenant_settings

__all__ = [
    "api_key_revoke",
    "api_keys",
    "archive",
    "audit_log",
    "embedding_retire",
    "embedding_retry",
    "embedding_switch",
    "embeddings",
    "hygiene",
    "hygiene_act",
    "hygiene_progress",
    "hygiene_undo",
    "member_add",
    "member_remove",
    "memo",
    "memories",
    "memory",
    "memory_bulk",
    "memory_bulk_undo",
    "memory_merge",
    "pin",
    "restore",
    "restore_version",
    "snapshot",
    "snapshot_delete",
    "snapshots",
    "summaries",
    "summary_again",
    "summary_withdraw",
    "tenant_settings",
    "text_tokens",
    "unpin",
]
