"""The names that pages show for the kinds of rows that an erasure counts."""

#: Kinds whose name is that of a table and not the word that pages use. Receipts and the API keep the kinds.
ROW_LABELS = {
    "audit checks": "audit log checks",
    "common lexemes": "frequent words",
    "compaction members": "message states for roll-backs",
    "compaction prompts": "summary prompts",
    "evaluation answers": "evaluation results",
    "feedback": "votes",
    "golden memories": "expected memories of golden questions",
    "idempotency records": "stored API responses",
    "memberships": "members",
    "memory findings": "hygiene list entries",
    "memory pairs": "hygiene list pairs",
    "missing vectors": "missing embeddings",
    "provider breakers": "circuit breakers",
    "recalled texts": "hashes of recalled texts",
    "receipts": "receipts of contexts",
    "retrieval ticks": "pending retrieval counts",
    "runs": "compaction and roll-up jobs",
    "stored acts": "undo data of changes",
    "uncompared memories": "pending comparisons of memories",
}


def row_label(kind: str) -> str:
    """Return the words for a kind of rows; a redacted kind stays marked as such."""
    name, comma, change = kind.partition(", ")
    return f"{ROW_LABELS.get(name, name)}{comma}{change}"
