"""Operator pages about what is stored: memories, the memo, summaries of partitions, snapshots."""

from memories.views.memories import archive, memories, memory, pin, restore, restore_version, unpin
from memories.views.places import memo, summaries, summary_again, summary_withdraw
from memories.views.snapshots import snapshot, snapshot_delete, snapshots

__all__ = [
    "archive",
    "memo",
    "memories",
    "memory",
    "pin",
    "restore",
    "restore_version",
    "snapshot",
    "snapshot_delete",
    "snapshots",
    "summaries",
    "summary_again",
    "summary_withdraw",
    "unpin",
]
