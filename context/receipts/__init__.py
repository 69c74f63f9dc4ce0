"""Receipts: the stored record of each context, and the way back from it to the context."""

from context.receipts.storing import (
    StoredContext,
    anchors_of,
    anchors_of_receipt,
    find_receipt,
    list_receipts,
    read_receipt,
    receipt_of,
    stored_context,
    text_hash,
    write_receipt,
)

__all__ = [
    "StoredContext",
    "anchors_of",
    "anchors_of_receipt",
    "find_receipt",
    "list_receipts",
    "read_receipt",
    "receipt_of",
    "stored_context",
    "text_hash",
    "write_receipt",
]
