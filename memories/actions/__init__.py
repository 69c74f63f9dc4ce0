"""The verbs of what is stored: keyword-only, inside a scope, `by` whom and `now` passed in, one audit row each."""

from memories.actions.bulk import BulkDone, act_on_memories, merge_seen_memories
from memories.actions.counters import Counters, adopt_counters
from memories.actions.edit import archive_memory, restore_memory, update_memory
from memories.actions.embeddings import retry_embeddings
from memories.actions.hidden_tenants import create_hidden_tenant, drop_hidden_tenant
from memories.actions.hygiene import archive_memories, dismiss_findings, merge_memories, undo_hygiene
from memories.actions.languages import set_language
from memories.actions.links import link_memories, unlink_memories
from memories.actions.memo import set_memo
from memories.actions.partitions import create_partition
from memories.actions.reembedding import (
    Switched,
    retire_embedding_model,
    retry_refused_vectors,
    roll_back_embedding_model,
    start_reembedding,
    switch_embedding_model,
)
from memories.actions.snapshots import create_snapshot, delete_snapshot
from memories.actions.store import StoreResult, StoreStatus, store_memories, store_memory
from memories.actions.summaries import save_summary, withdraw_summary
from memories.actions.tenants import (
    add_member,
    create_api_key,
    create_operator,
    create_tenant,
    remove_member,
    revoke_api_key,
)
from memories.recall import remember_recall, set_usefulness

__all__ = [
    "BulkDone",
    "Counters",
    "StoreResult",
    "StoreStatus",
    "Switched",
    "act_on_memories",
    "add_member",
    "adopt_counters",
    "archive_memories",
    "archive_memory",
    "create_api_key",
    "create_hidden_tenant",
    "create_operator",
    "create_partition",
    "create_snapshot",
    "create_tenant",
    "delete_snapshot",
    "dismiss_findings",
    "drop_hidden_tenant",
    "link_memories",
    "merge_memories",
    "merge_seen_memories",
    "remember_recall",
    "remove_member",
    "restore_memory",
    "retire_embedding_model",
    "retry_embeddings",
    "retry_refused_vectors",
    "revoke_api_key",
    "roll_back_embedding_model",
    "save_summary",
    "set_language",
    "set_memo",
    "set_usefulness",
    "start_reembedding",
    "store_memories",
    "store_memory",
    "switch_embedding_model",
    "undo_hygiene",
    "unlink_memories",
    "update_memory",
    "withdraw_summary",
]
