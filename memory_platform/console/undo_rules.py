"""Which acts have no Undo and what to do instead, and who may undo the others when."""

from collections.abc import Mapping

FINAL = "Can't be undone"
_IS_WORK = f"{FINAL}: the work is done"
_IS_SECRET = f"{FINAL}: the secret is not stored"
_IS_GONE = f"{FINAL}: the data is gone"
_IS_CONVERSATION = f"{FINAL}: it is part of a conversation"
_IS_ACCOUNT = f"{FINAL}: it concerns an account, not the tenant"
_CAN_BE_CHANGED, _CAN_BE_DECIDED = "Change it on its page", "Open its review"
#: The text about acts without Undo: `FINAL` and the reason, or what an operator can do on the linked page.
NOTES: Mapping[str, str] = {
    "adopt_counters": f"{FINAL}: later retrievals are counted on top",
    "create_partition": f"{FINAL}: a partition stays for what refers to it",
    "archive_expired": "Change the expiry on its page",
    "request_roll_up": "Undo the summary, or edit it",
    **dict.fromkeys(("create_session", "update_session", "append_messages", "expand_message"), _IS_CONVERSATION),
    "request_compaction": _CAN_BE_DECIDED,
    **dict.fromkeys(("retry_run", "cancel_evaluation", "retry_evaluation", "test_alert_destination"), _IS_WORK),
    "request_evaluation": "Delete it on its page",
    "delete_evaluation": _IS_GONE,
    "create_api_key": "Revoke it on its page",
    **dict.fromkeys(("revoke_api_key", "revoke_invitation"), _IS_SECRET),
    "accept_invitation": "Undo the added member",
    **dict.fromkeys(("change_password", "enable_second_factor", "renew_recovery_codes"), _IS_SECRET),
    "remove_second_factor": _IS_SECRET,
    **dict.fromkeys(("change_email", "lock_out"), _IS_ACCOUNT),
    **dict.fromkeys(("create_tenant", "import"), f"{FINAL}: erase the tenant instead"),
    "export": f"{FINAL}: the file was downloaded",
    **dict.fromkeys(("start_reembedding", "request_embedding_switch", "switch_embedding_model"), _CAN_BE_CHANGED),
    "retire_embedding_model": _IS_GONE,
    **dict.fromkeys(("retry_embeddings", "reembed_memories", "retry_refused_vectors"), _IS_WORK),
    **dict.fromkeys(("prune_receipts", "request_erasure", "retry_erasure", "erase"), _IS_GONE),
}
#: The same about acts that have Undo only if they stored values: a reopened approval is decided again instead.
NOTES_WITHOUT_VALUES: Mapping[str, str] = {"reopen_compaction": _CAN_BE_DECIDED}
#: Only admins may undo these, as only they may perform them.
UNDONE_BY_ADMINS = frozenset(
    {
        *("publish_scoring_profile", "roll_back_scoring_profile", "retire_scoring_profile", "restore_scoring_profile"),
        *("add_alert_destination", "remove_alert_destination", "restore_alert_destination", "save_prompt"),
        *("change_role", "add_member", "remove_member", "create_invitation", "set_language", "set_alert_rules"),
        *("set_retention", "remove_retention"),
    }
)
#: Acts that can be undone as long as no other act on the same target followed.
UNDONE_WHILE_LATEST = frozenset(
    {
        *("set_memo", "save_summary", "withdraw_summary", "save_prompt", "create_invitation"),
        *("mark_compaction_reviewed", "withdraw_review"),
        *("link_memories", "unlink_memories", "create_snapshot"),
        *("pin_message", "unpin_message", "close_session", "restore_session"),
        *("collect_golden_question", "remove_golden_question", "restore_golden_question"),
        *("add_alert_destination", "remove_alert_destination", "restore_alert_destination", "delete_view"),
        *("create_scoring_profile", "edit_scoring_profile", "retire_scoring_profile", "restore_scoring_profile"),
    }
)
