"""Receipts: the stored record of each context, without its texts, and the way back from a receipt to its text.

Anchors, score parts and reasons are stored as short rows (lists in the order of the constants below): a receipt of some
hundred candidates stays within a few kilobytes, and writing it does not weigh on the answer (ADR-0059).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from context.fence import render_blocks
from context.models import Receipt
from context.results import (
    MEMORY,
    TENANT_MEMO,
    Anchor,
    AssembledContext,
    Block,
    Consideration,
    ContextBudget,
    Notice,
    Omission,
)
from memories.exceptions import NotFound
from memories.models import Memory, MemoryVersion, TenantMemo

SCORE_PARTS = ("relevance", "recency", "usefulness", "confidence", "frequency")

Row = list[Any]


@dataclass(frozen=True)
class StoredContext:
    """A context read back. `is_verified` says that its text is, byte for byte, the one that was given."""

    context: AssembledContext
    is_verified: bool

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """As `POST context` answered it, with when it was and what was asked."""
        return self.context.as_answer(explain=explain) | {
            "created_at": self.context.created_at.isoformat(),
            "request": dict(self.context.request),
            "is_verified": self.is_verified,
        }


def write_receipt(context: AssembledContext, *, tenant_id: UUID, api_key_id: str | None) -> UUID:
    """Store the record of a context; inside a scope of its tenant."""
    receipt = Receipt(
        tenant_id=tenant_id,
        api_key_id=api_key_id,
        created_at=context.created_at,
        query=context.request["query"],
        partition_path=context.request["partition"],
        request=dict(context.request),
        profile=dict(context.profile),
        budget_profile=dict(context.budget_profile),
        budget=context.budget.as_answer(),
        tokens_used=context.budget.used,
        blocks=[_block_row(block) for block in context.blocks],
        omitted=[_omission_row(omission) for omission in context.omitted],
        candidates=[_candidate_row(candidate) for candidate in context.candidates],
        plan=dict(context.plan),
        warnings=[notice.as_answer() for notice in context.warnings],
        timings=dict(context.timings),
        text_sha256=text_hash(context.text),
        nonce_counter=context.nonce_counter,
    )
    receipt.save(force_insert=True)
    return receipt.id


def read_receipt(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> StoredContext:
    """A context as it was given, its text rendered again from the versions it was made of.

    Four queries, inside a scope. Raises `NotFound` for a receipt outside of `reach`.
    """
    receipt = _receipt(tenant_id, receipt_id, reach)
    blocks, missing = _with_texts([_block(row) for row in receipt.blocks], tenant_id)
    rendered = render_blocks(blocks, style=receipt.request["render"], tenant_id=tenant_id)
    is_verified = not missing and text_hash(rendered.text) == receipt.text_sha256
    return StoredContext(_context(receipt, blocks, rendered.text), is_verified)


def anchors_of_receipt(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> list[Anchor]:
    """The anchors of an earlier context in the order of its text. Raises `NotFound` as `read_receipt` does."""
    return [_block(row).anchor for row in _receipt(tenant_id, receipt_id, reach).blocks]


def text_hash(text: str) -> str:
    """Hex SHA-256 of the text's UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _receipt(tenant_id: UUID, receipt_id: UUID, reach: str) -> Receipt:
    receipt: Receipt | None = Receipt.objects.for_tenant(tenant_id).for_reach(reach).with_id(receipt_id).first()
    if receipt is None:
        raise NotFound("not_found", "There is no such context.")
    return receipt


def _context(receipt: Receipt, blocks: Sequence[Block], text: str) -> AssembledContext:
    return AssembledContext(
        id=receipt.id,
        text=text,
        blocks=blocks,
        omitted=[_omission(row) for row in receipt.omitted],
        budget=ContextBudget(**receipt.budget),
        profile=receipt.profile,
        budget_profile=receipt.budget_profile,
        warnings=[Notice(**notice) for notice in receipt.warnings],
        timings=receipt.timings,
        candidates=[_candidate(row) for row in receipt.candidates],
        plan=receipt.plan,
        request=receipt.request,
        created_at=receipt.created_at,
        nonce_counter=receipt.nonce_counter,
    )


def _with_texts(blocks: Sequence[Block], tenant_id: UUID) -> tuple[list[Block], list[Anchor]]:
    """The blocks with their texts, and the anchors whose rows were erased since."""
    texts = _texts([block.anchor for block in blocks], tenant_id)
    found = [replace(block, text=texts[block.anchor]) for block in blocks if block.anchor in texts]
    return found, [block.anchor for block in blocks if block.anchor not in texts]


def _texts(anchors: Iterable[Anchor], tenant_id: UUID) -> Mapping[Anchor, str]:
    wanted = set(anchors)
    ids = {anchor.id for anchor in wanted if anchor.type == MEMORY}
    versions = {anchor.version for anchor in wanted}
    current = Memory.objects.for_tenant(tenant_id).texts_of(ids, versions)
    superseded = MemoryVersion.objects.for_tenant(tenant_id).texts_of(ids, versions)
    memos = TenantMemo.objects.for_tenant(tenant_id).texts_of(versions)
    found = {Anchor(MEMORY, str(pk), version): text for pk, version, text in [*superseded, *current]}
    found |= {Anchor(TENANT_MEMO, str(tenant_id), version): text for version, text in memos}
    return {anchor: text for anchor, text in found.items() if anchor in wanted}


def _anchor_row(anchor: Anchor) -> Row:
    return [anchor.type, anchor.id, anchor.version]


def _part_row(breakdown: Mapping[str, float] | None) -> Row | None:
    return None if breakdown is None else [breakdown[name] for name in SCORE_PARTS]


def _parts(row: Row | None) -> dict[str, float] | None:
    return None if row is None else dict(zip(SCORE_PARTS, row, strict=True))


def _block_row(block: Block) -> Row:
    parts = _part_row(block.score_breakdown)
    return [block.kind, *_anchor_row(block.anchor), block.tokens, block.position, block.truncated, block.score, parts]


def _block(row: Row) -> Block:
    kind, type_, id_, version, tokens, position, is_truncated, score, parts = row
    return Block(kind, Anchor(type_, id_, version), "", tokens, position, is_truncated, score, _parts(parts))


def _omission_row(omission: Omission) -> Row:
    return [
        *_anchor_row(omission.anchor),
        omission.reason,
        omission.tokens,
        omission.score,
        omission.tokens_missing,
    ]


def _omission(row: Row) -> Omission:
    type_, id_, version, reason, tokens, score, missing = row
    return Omission(Anchor(type_, id_, version), reason, tokens, score, missing)


def _candidate_row(candidate: Consideration) -> Row:
    return [
        *_anchor_row(candidate.anchor),
        candidate.tokens,
        int(candidate.pinned),
        candidate.score,
        _part_row(candidate.score_breakdown),
        candidate.vector_rank,
        candidate.text_rank,
        candidate.fused_score,
        candidate.outcome,
    ]


def _candidate(row: Row) -> Consideration:
    type_, id_, version, tokens, is_pinned, score, parts, vector_rank, text_rank, fused, outcome = row
    return Consideration(
        anchor=Anchor(type_, id_, version),
        tokens=tokens,
        pinned=bool(is_pinned),
        score=score,
        score_breakdown=_parts(parts) or {},
        vector_rank=vector_rank,
        text_rank=text_rank,
        fused_score=fused,
        outcome=outcome,
    )
