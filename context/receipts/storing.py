"""Store a receipt of each context without its texts, and render the text of a receipt again.

A shortened text is the beginning of a stored one, so its cut is enough (ADR-0063).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from context.models import Receipt
from context.receipts.results import (
    MEMORY,
    PARTITION_SUMMARY,
    TENANT_MEMO,
    Anchor,
    AssembledContext,
    Block,
    ContextBudget,
    ContextWarning,
)
from context.receipts.rows import ReceiptContents, decode_receipt, encode_receipt
from context.services.packer.snippets import ELLIPSIS
from context.services.rendering import render_context
from memories.models import Memory, MemoryVersion, PartitionSummary, TenantMemo
from memories.services.store.moments import PointInTime, TimeAxis
from memories.tenancy.required_rows import find_row

#: The key of the packer's figures in a stored plan.
OPTIMALITY = "optimality"
#: Attributes that a context and its receipt share.
_COMMON = ("created_at", "request", "profile", "budget_profile", "timings", "nonce_counter", "stable_prefix_tokens")

#: The fields of a block that its row contains; a memo or a summary has only the first two.
_ROW_FIELDS = ("text", "created_at", "valid_from", "valid_to")


@dataclass(frozen=True)
class StoredContext:
    """A context read from its receipt; `is_verified` if its text is, byte for byte, the one that was returned."""

    context: AssembledContext
    is_verified: bool

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the answer of `POST context`, with its time and its resolved request."""
        return self.context.as_answer(explain=explain) | {
            "created_at": self.context.created_at.isoformat(),
            "request": dict(self.context.request),
            "is_verified": self.is_verified,
        }


def build_receipt(
    context: AssembledContext, *, moment: PointInTime, tenant_id: UUID, api_key_id: str | None
) -> Receipt:
    """Return the receipt of a context that was read at `moment`, not yet inserted. No query."""
    optimality = {} if context.optimality is None else {OPTIMALITY: context.optimality}
    contents = ReceiptContents(list(context.blocks), list(context.omitted), list(context.candidates))
    return Receipt(
        tenant_id=tenant_id,
        api_key_id=api_key_id,
        query=context.request["query"],
        partition_path=context.request["partition"],
        budget=context.budget.as_answer(),
        tokens_used=context.budget.used,
        plan={**context.plan, **optimality},
        warnings=[notice.as_answer() for notice in context.warnings],
        text_sha256=context_text_hash(context.text),
        as_of=moment.at if moment.kind is TimeAxis.VALID else None,
        memory_ids=packed_memory_ids(context.blocks),
        **encode_receipt(contents),
        **{name: getattr(context, name) for name in _COMMON},
    )


def read_receipt(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> StoredContext:
    """Return a context as it was returned, with its text rendered again from the versions that it contained.

    Five queries, inside a scope. Raises `NotFound` for a receipt outside of `reach`.
    """
    return stored_context(find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach))


def stored_context(receipt: Receipt) -> StoredContext:
    """Return the context of a receipt, its text rendered again. Four queries, inside a scope."""
    contents = _contents(receipt)
    rows = _rows([block.anchor for block in contents.blocks], receipt.tenant_id, known_at=receipt.created_at)
    blocks = [
        replace(block, **(rows[block.anchor] | {"text": _shown(block, rows[block.anchor]["text"])}))
        for block in contents.blocks
        if block.anchor in rows
    ]
    text = render_context(
        blocks,
        style=receipt.request["render"],
        secret=settings.SECRET_KEY.encode(),
        tenant_id=str(receipt.tenant_id),
        has_days=receipt.request.get("include_memory_days", False),
    ).text
    is_verified = len(blocks) == len(contents.blocks) and context_text_hash(text) == receipt.text_sha256
    return StoredContext(_context(receipt, contents, blocks, text), is_verified)


def receipt_anchors(receipt: Receipt) -> list[Anchor]:
    """Return the anchors of a receipt's blocks in the order of its text."""
    return [block.anchor for block in _contents(receipt).blocks]


def find_receipt(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> Receipt:
    """Return the receipt of a context within `reach`; inside a scope. Raises `NotFound` if there is none."""
    rows = Receipt.objects.for_tenant(tenant_id).for_reach(reach).with_keys()
    return find_row(rows.with_id(receipt_id), Receipt, "context")


def packed_memory_ids(blocks: Iterable[Block]) -> list[str]:
    """Return the ids of the memories in the text, each once."""
    return list(dict.fromkeys(block.anchor.id for block in blocks if block.anchor.type == MEMORY))


def context_text_hash(text: str) -> str:
    """Return the hex SHA-256 of the text's UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _contents(receipt: Receipt) -> ReceiptContents:
    return decode_receipt(receipt.blocks, receipt.omitted, receipt.candidates)


def _context(receipt: Receipt, contents: ReceiptContents, blocks: Sequence[Block], text: str) -> AssembledContext:
    plan = dict(receipt.plan)
    optimality = plan.pop(OPTIMALITY, None)
    return AssembledContext(
        id=receipt.id,
        text=text,
        blocks=blocks,
        omitted=contents.omitted,
        budget=ContextBudget(**receipt.budget),
        warnings=[ContextWarning(**notice) for notice in receipt.warnings],
        candidates=contents.candidates,
        plan=plan,
        optimality=optimality,
        **{name: getattr(receipt, name) for name in _COMMON},
    )


def _shown(block: Block, text: str) -> str:
    return text if block.cut is None else text[: block.cut] + ELLIPSIS


def _rows(anchors: Iterable[Anchor], tenant_id: UUID, *, known_at: datetime) -> Mapping[Anchor, dict[str, Any]]:
    """Return the texts and times of the anchors whose rows still exist, as fields of a block."""
    distinct = set(anchors)
    ids = {kind: {anchor.id for anchor in distinct if anchor.type == kind} for kind in (MEMORY, PARTITION_SUMMARY)}
    versions = {anchor.version for anchor in distinct}
    memories = [
        *MemoryVersion.objects.for_tenant(tenant_id).dated_texts_of(ids[MEMORY], versions, known_at=known_at),
        *Memory.objects.for_tenant(tenant_id).dated_texts_of(ids[MEMORY], versions, known_at=known_at),
    ]
    summaries = PartitionSummary.objects.for_tenant(tenant_id).texts_of(ids[PARTITION_SUMMARY], versions)
    memos = TenantMemo.objects.for_tenant(tenant_id).texts_of(versions)
    found = {Anchor(MEMORY, str(pk), version): fields for pk, version, *fields in memories}
    found |= {Anchor(PARTITION_SUMMARY, str(pk), version): fields for pk, version, *fields in summaries}
    found |= {Anchor(TENANT_MEMO, str(tenant_id), version): fields for version, *fields in memos}
    return {anchor: dict(zip(_ROW_FIELDS, fields, strict=False)) for anchor, fields in found.items()}
