"""Every verb of the audit log that the Activity page lists: its label, its group, and what to do if it has no Undo."""

from collections.abc import Mapping

from memories.models import HygieneAct

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

#: Acts that have a row with what their undo needs.
STORED_ACTS = {
    "merge_memories": "Merged memories",
    "archive_memories": "Archived memories",
    "restore_memories": "Restored memories",
    "pin_memories": "Pinned memories",
    "unpin_memories": "Unpinned memories",
    "change_memories": "Changed the kind",
    "move_memories": "Moved memories",
    "replace_memories": "Replaced a fact",
    "import_memories": "Imported memories",
    "dismiss_findings": "Dismissed findings",
}
_UNDONE_ACTS = {f"undo_{act}": f"Undid: {act}" for act in HygieneAct.Act.values}
VERBS: Mapping[str, Mapping[str, str]] = {
    MEMORIES: STORED_ACTS
    | _UNDONE_ACTS
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
        "unassign_budget_profile": "Ended an assignment",
        "create_scoring_profile": "Created a scoring profile",
        "edit_scoring_profile": "Saved a draft",
        "publish_scoring_profile": "Published a scoring profile",
        "roll_back_scoring_profile": "Rolled back a scoring profile",
        "retire_scoring_profile": "Retired a scoring profile",
        "restore_scoring_profile": "Restored a scoring profile",
        "assign_scoring_profile": "Assigned a scoring profile",
        "unassign_scoring_profile": "Ended an assignment",
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
        "set_retention": "Set a retention rule",
        "remove_retention": "Removed a retention rule",
        "prune_receipts": "Deleted old receipts",
        "request_erasure": "Requested an erasure",
        "retry_erasure": "Retried an erasure",
        "erase": "Erased data",
    },
}
ACT_LABELS: Mapping[str, str] = {verb: label for verbs in VERBS.values() for verb, label in verbs.items()}

FINAL = "Can't be undone"
_CAN_BE_CHANGED, _CAN_BE_EDITED = "Change it on its page", "Edit it on its page"
_CAN_BE_DECIDED, _CAN_BE_REPEATED = "Decide on its page", "Repeat the change instead"
#: What the page says about acts without Undo: `FINAL`, or what a person can do on the linked page.
NOTES: Mapping[str, str] = {
    **dict.fromkeys(_UNDONE_ACTS, _CAN_BE_REPEATED),
    **dict.fromkeys(("adopt_counters", "record_outcome", "create_partition", "delete_snapshot"), FINAL),
    "store_memories": "Archive them on their pages",
    "archive_expired": "Change the expiry on its page",
    **dict.fromkeys(("give_feedback", "withdraw_feedback"), "Vote again on its page"),
    "request_roll_up": _CAN_BE_EDITED,
    **dict.fromkeys(("create_session", "update_session", "append_messages", "expand_message", "retry_run"), FINAL),
    **dict.fromkeys(("request_compaction", "reopen_compaction", "mark_compaction_reviewed"), _CAN_BE_DECIDED),
    **dict.fromkeys(("edit_compaction", "append_missing_facts", "withdraw_appended_facts"), _CAN_BE_EDITED),
    **dict.fromkeys(("strike_fact", "keep_fact"), _CAN_BE_DECIDED),
    "change_golden_question": _CAN_BE_CHANGED,
    "request_evaluation": "Delete it on its page",
    **dict.fromkeys(("cancel_evaluation", "retry_evaluation", "delete_evaluation"), FINAL),
    **dict.fromkeys(("create_api_key", "create_invitation"), "Revoke it on its page"),
    **dict.fromkeys(("revoke_api_key", "revoke_invitation"), FINAL),
    **dict.fromkeys(("accept_invitation", "add_member", "remove_member", "change_role"), "Change it under Members"),
    **dict.fromkeys(("change_password", "change_email", "lock_out", "create_tenant", "import", "export"), FINAL),
    **dict.fromkeys(("enable_second_factor", "renew_recovery_codes", "remove_second_factor"), FINAL),
    "save_view": "Delete it on its list",
    **dict.fromkeys(("set_language", "set_alert_rules", "set_retention", "remove_retention"), _CAN_BE_CHANGED),
    **dict.fromkeys(("start_reembedding", "request_embedding_switch", "switch_embedding_model"), _CAN_BE_CHANGED),
    **dict.fromkeys(("retire_embedding_model", "retry_refused_vectors"), FINAL),
    **dict.fromkeys(("retry_embeddings", "reembed_memories"), FINAL),
    **dict.fromkeys(("prune_receipts", "request_erasure", "retry_erasure", "erase", "test_alert_destination"), FINAL),
}
#: Only admins may undo these, as only they may perform them.
UNDONE_BY_ADMINS = frozenset(
    {
        *("publish_scoring_profile", "roll_back_scoring_profile", "retire_scoring_profile", "restore_scoring_profile"),
        *("add_alert_destination", "remove_alert_destination", "restore_alert_destination", "save_prompt"),
    }
)
#: Acts that can be undone as long as no other act on the same target followed.
UNDONE_WHILE_LATEST = frozenset(
    {
        *("set_memo", "save_summary", "withdraw_summary", "save_prompt"),
        *("link_memories", "unlink_memories", "create_snapshot"),
        *("pin_message", "unpin_message", "close_session", "restore_session"),
        *("collect_golden_question", "remove_golden_question", "restore_golden_question"),
        *("add_alert_destination", "remove_alert_destination", "restore_alert_destination", "delete_view"),
        *("create_scoring_profile", "edit_scoring_profile", "retire_scoring_profile", "restore_scoring_profile"),
    }
)
