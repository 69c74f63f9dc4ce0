"""The schedule of background tasks, and the queue of each."""

from typing import Any


def _every(seconds: float, task: str, *, expires: bool = True) -> dict[str, Any]:
    """Return a scheduled task; one that expires is dropped when the next one is due."""
    return {"task": task, "schedule": seconds, **({"options": {"expires": seconds}} if expires else {})}


_COMPACTION_SWEEPS = ("compaction.tasks.sweep_sessions", "compaction.tasks.sweep_runs")
#: The queue of each kind of work, which may have its own workers; tasks not named here are maintenance.
_TASKS = {
    "embedding": ("memories.tasks.embed_*", "memories.tasks.*_embedding*", "memories.tasks.extend_vector_indexes_task"),
    "compaction": ("compaction.tasks.run_compaction_task", "compaction.tasks.roll_up_*", *_COMPACTION_SWEEPS),
    "evaluation": ("context.tasks.*_evaluation*",),
}
MAINTENANCE_QUEUE = "maintenance"
#: A worker without `--queues` takes tasks from all of them in turn.
TASK_QUEUES: dict[str, dict[str, Any]] = {queue: {} for queue in (*_TASKS, MAINTENANCE_QUEUE)}
TASK_ROUTES = {pattern: {"queue": queue} for queue, patterns in _TASKS.items() for pattern in patterns}

#: By the names that the Jobs page shows; intervals in seconds.
BEAT_SCHEDULE = {
    "Embed pending memories": _every(30.0, "memories.tasks.sweep_pending_embeddings", expires=False),
    "Continue re-embedding": _every(30.0, "memories.tasks.sweep_embedding_models"),
    "Extend vector indexes": _every(5.0, "memories.tasks.extend_vector_indexes_task"),
    # So that counts are up to date within two seconds on an idle system.
    "Update retrieval counts": _every(2.0, "memories.tasks.fold_retrievals_task"),
    "Find near-duplicates and contradictions": _every(60.0, "memories.tasks.compare_new_memories_task"),
    "Find unused and expiring memories": _every(600.0, "memories.tasks.find_hygiene_problems_task"),
    "Find unhelpful memories": _every(600.0, "context.tasks.find_unhelpful_task"),
    "Finish language changes": _every(600.0, "memories.tasks.sweep_languages"),
    "Seal audit entries": _every(5.0, "memories.tasks.seal_audit_entries_task"),
    "Report lock-outs of accounts": _every(30.0, "memories.tasks.report_lock_outs_task"),
    "Check audit logs": _every(3600.0, "memories.tasks.check_audit_logs_task", expires=False),
    "Update common words": _every(900.0, "memories.tasks.count_common_lexemes_task"),
    "Update partition counts": _every(10.0, "memories.tasks.fold_partition_counts_task"),
    "Delete expired records": _every(3600.0, "memories.tasks.delete_expired_records_task", expires=False),
    "Delete old receipts": _every(3600.0, "context.tasks.prune_receipts_task", expires=False),
    "Compact idle sessions": _every(60.0, "compaction.tasks.sweep_sessions"),
    "Resume abandoned compactions": _every(30.0, "compaction.tasks.sweep_runs"),
    "Resume abandoned evaluations": _every(30.0, "context.tasks.sweep_evaluations"),
    "Resume abandoned erasures": _every(30.0, "compaction.tasks.sweep_erasures"),
    "Apply retention policies": _every(3600.0, "compaction.tasks.erase_past_retention_task", expires=False),
    "Evaluate alert rules": _every(60.0, "compaction.tasks.evaluate_alerts_task"),
    "Deliver alerts": _every(30.0, "compaction.tasks.sweep_alert_deliveries"),
    "Delete old alerts": _every(3600.0, "compaction.tasks.delete_old_alerts_task", expires=False),
    "Roll up changed partitions": _every(3600.0, "compaction.tasks.roll_up_changed_task", expires=False),
}
