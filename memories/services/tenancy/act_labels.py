"""The verbs of the audit log: those that lists of acts exclude, and labels by group for the pages of the console."""

from collections.abc import Mapping

#: Verbs of what API keys do in every turn of a conversation. Lists of acts show them only for people and rules.
AGENT_TRAFFIC = (
    *("append_messages", "close_session", "create_partition", "create_session", "export", "give_feedback"),
    *("link_memories", "record_outcome", "request_compaction", "restore_session", "store_memories", "store_memory"),
    *("unlink_memories", "update_memory", "update_session", "withdraw_feedback"),
)
#: Verbs of reading memories, which change nothing (ADR-0274, ADR-0303).
READS = ("read_context", "preview_context", "search_memories", "read_text")
#: Verbs that are never listed as acts: reading, and text that a page stores for its URL.
UNLISTED = (*READS, "store_long_query")

MEMORIES, TEXTS, SESSIONS, COMPACTIONS = "memories", "texts", "sessions", "compactions"
PROFILES, QUALITY, TENANT = "profiles", "quality", "tenant"
GROUPS = {
    MEMORIES: "Memories",
    TEXTS: "Summaries and memo",
    SESSIONS: "Sessions",
    COMPACTIONS: "Compactions",
    PROFILES: "Profiles",
    QUALITY: "Quality",
    TENANT: "Administration",
}

#: How long stored acts are kept (ADR-0304).
UNDO_DAYS = 90
#: The verb and the label of each kind of stored act on memories.
_STORED: Mapping[str, tuple[str, str]] = {
    "merge": ("merge_memories", "Merged memories"),
    "archive": ("archive_memories", "Archived memories"),
    "restore": ("restore_memories", "Restored memories"),
    "pin": ("pin_memories", "Pinned memories"),
    "unpin": ("unpin_memories", "Unpinned memories"),
    "kind": ("change_memories", "Changed the kind"),
    "move": ("move_memories", "Moved memories"),
    "replace": ("replace_memories", "Replaced a fact"),
    "import": ("import_memories", "Imported memories"),
    "dismiss": ("dismiss_findings", "Dismissed findings"),
}
#: The labels of stored acts by verb, and the verbs by kind of act.
STORED_ACTS = dict(_STORED.values())
STORED_VERBS = {act: verb for act, (verb, _) in _STORED.items()}
#: The undo of a stored act, and the undo of that undo.
REPEATED_ACTS = {
    f"{prefix}_{act}": f"{done}: {label.lower()}"
    for prefix, done in (("undo", "Undid"), ("redo", "Repeated"))
    for act, (_, label) in _STORED.items()
}
VERBS: Mapping[str, Mapping[str, str]] = {
    MEMORIES: STORED_ACTS
    | REPEATED_ACTS
    | {
        "store_memory": "Stored a memory",
        "store_memories": "Stored memories",
        "update_memory": "Changed a memory",
        "archive_memory": "Archived a memory",
        "restore_memory": "Restored a memory",
        "archive_expired": "Archived expired memories",
        "link_memories": "Linked two memories",
        "unlink_memories": "Removed a link",
        "adopt_counters": "Imported counters",
        "give_feedback": "Voted on memories",
        "withdraw_feedback": "Withdrew a vote",
        "restore_feedback": "Restored a vote",
        "record_outcome": "Recorded an outcome",
        "create_partition": "Created a partition",
        "create_snapshot": "Created a snapshot",
        "delete_snapshot": "Deleted a snapshot",
    },
    TEXTS: {
        "set_memo": "Changed the memo",
        "save_summary": "Saved a summary",
        "withdraw_summary": "Withdrew a summary",
        "request_roll_up": "Requested a summary",
    },
    SESSIONS: {
        "create_session": "Created a session",
        "update_session": "Changed a session",
        "close_session": "Closed a session",
        "restore_session": "Reopened a session",
        "append_messages": "Appended messages",
        "pin_message": "Pinned a message",
        "unpin_message": "Unpinned a message",
        "expand_message": "Expanded a message",
    },
    COMPACTIONS: {
        "request_compaction": "Requested a compaction",
        "apply_compaction": "Applied a compaction",
        "approve_compaction": "Approved a compaction",
        "reject_compaction": "Rejected a compaction",
        "roll_back_compaction": "Rolled back a compaction",
        "reopen_compaction": "Reopened a compaction",
        "mark_compaction_reviewed": "Reviewed a compaction",
        "withdraw_review": "Withdrew a review",
        "edit_compaction": "Edited a summary",
        "append_missing_facts": "Added missing facts",
        "withdraw_appended_facts": "Removed added facts",
        "strike_fact": "Struck a fact",
        "keep_fact": "Kept a fact",
        "retry_run": "Retried a run",
        "save_prompt": "Saved the prompt",
    },
    PROFILES: {
        "create_budget_profile": "Created a budget profile",
        "save_budget_profile": "Saved a budget profile",
        "roll_back_budget_profile": "Rolled back a budget profile",
        "retire_budget_profile": "Retired a budget profile",
        "restore_budget_profile": "Restored a budget profile",
        "assign_budget_profile": "Assigned a budget profile",
        "unassign_budget_profile": "Unassigned a budget profile",
        "create_scoring_profile": "Created a scoring profile",
        "edit_scoring_profile": "Saved a draft",
        "publish_scoring_profile": "Published a scoring profile",
        "roll_back_scoring_profile": "Rolled back a scoring profile",
        "retire_scoring_profile": "Retired a scoring profile",
        "restore_scoring_profile": "Restored a scoring profile",
        "assign_scoring_profile": "Assigned a scoring profile",
        "unassign_scoring_profile": "Unassigned a scoring profile",
    },
    QUALITY: {
        "collect_golden_question": "Added a golden question",
        "change_golden_question": "Changed a golden question",
        "remove_golden_question": "Removed a golden question",
        "restore_golden_question": "Restored a golden question",
        "request_evaluation": "Started an evaluation",
        "cancel_evaluation": "Cancelled an evaluation",
        "retry_evaluation": "Retried an evaluation",
        "delete_evaluation": "Deleted an evaluation",
    },
    TENANT: {
        "create_api_key": "Created an API key",
        "revoke_api_key": "Revoked an API key",
        "create_invitation": "Invited a member",
        "revoke_invitation": "Revoked an invitation",
        "accept_invitation": "Accepted an invitation",
        "add_member": "Added a member",
        "change_role": "Changed a role",
        "remove_member": "Removed a member",
        "change_password": "Changed a password",
        "change_email": "Changed an e-mail address",
        "enable_second_factor": "Turned on the second factor",
        "renew_recovery_codes": "Renewed recovery codes",
        "remove_second_factor": "Turned off the second factor",
        "lock_out": "Locked an account",
        "create_tenant": "Created the tenant",
        "set_language": "Changed the language",
        "import": "Imported the tenant",
        "export": "Exported data",
        "save_view": "Saved a view",
        "delete_view": "Deleted a view",
        "set_alert_rules": "Changed alert rules",
        "add_alert_destination": "Added an alert destination",
        "remove_alert_destination": "Removed an alert destination",
        "restore_alert_destination": "Restored an alert destination",
        "test_alert_destination": "Sent a test alert",
        "start_reembedding": "Started re-embedding",
        "request_embedding_switch": "Requested a model switch",
        "switch_embedding_model": "Switched the embedding model",
        "retire_embedding_model": "Retired an embedding model",
        "retry_embeddings": "Retried embeddings",
        "reembed_memories": "Re-embedded memories",
        "retry_refused_vectors": "Retried rejected texts",
        "set_retention": "Set a retention policy",
        "remove_retention": "Removed a retention policy",
        "prune_receipts": "Deleted old receipts",
        "request_erasure": "Requested an erasure",
        "retry_erasure": "Retried an erasure",
        "erase": "Erased data",
    },
}
ACT_LABELS: Mapping[str, str] = {verb: label for verbs in VERBS.values() for verb, label in verbs.items()}
#: The labels of the verbs that only the audit log shows.
UNLISTED_LABELS: Mapping[str, str] = {
    "read_context": "Read a context",
    "preview_context": "Previewed a context",
    "search_memories": "Searched memories",
    "read_text": "Read text",
    "store_long_query": "Stored a long query",
}


def act_label(verb: str) -> str:
    """Return the label of a verb; for an unknown one, the words of its name."""
    return ACT_LABELS.get(verb) or UNLISTED_LABELS.get(verb) or verb.replace("_", " ").capitalize()


def verbs_named(text: str) -> list[str]:
    """Return the verbs whose label or name contains a text, in any case."""
    words = text.replace("_", " ").casefold().strip()
    known = [*ACT_LABELS, *UNLISTED_LABELS]
    return [verb for verb in known if words in act_label(verb).casefold() or words in verb.replace("_", " ")]
