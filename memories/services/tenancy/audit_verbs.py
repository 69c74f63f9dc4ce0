"""Verbs of the audit log that lists of acts exclude, and verbs of reading."""

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
