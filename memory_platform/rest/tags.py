"""The groups of operations in the OpenAPI document."""

#: What an agent needs first comes first.
TAGS = [
    {"name": "context", "description": "The best text for a query within a token budget, and its receipts."},
    {"name": "memories", "description": "Store, read, change, search, import and export memories."},
    {"name": "sessions", "description": "Conversations: their messages and their context."},
    {"name": "compaction", "description": "Summaries of older messages: run, review, roll back."},
    {"name": "feedback", "description": "Votes and outcomes, from which usefulness is computed."},
    {"name": "links", "description": "Links between memories."},
    {"name": "partitions", "description": "Users, agents and topics as paths, and their summaries."},
    {"name": "memo", "description": "Text that precedes every context of the tenant."},
    {"name": "snapshots", "description": "Named times to compare with."},
    {"name": "hygiene", "description": "Near-duplicates, contradictions and other issues; undo of bulk actions."},
    {"name": "golden questions", "description": "Questions with the memories that their contexts should include."},
    {"name": "evaluations", "description": "Measured recall of a profile on a corpus."},
    {"name": "budget profiles", "description": "Token budgets and their sections, with versions."},
    {"name": "scoring profiles", "description": "Weights that rank memories, with versions."},
    {"name": "erasures", "description": "Erase a memory, a partition or the tenant, now or by age."},
    {"name": "alerts", "description": "Rules that open alerts, and where those are sent."},
    {"name": "keys", "description": "API keys."},
]
