"""Receipts: the stored record of each context, without its texts, and the way back from a receipt to its text.

Anchors, score parts and reasons are stored as short rows: a receipt of some hundred candidates stays within a few
kilobytes, and writing it does not weigh on the answer (ADR-0059). A shortened text is the beginning of a stored one, so
its cut is enough (ADR-0063).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from context.models import Receipt
from context.receipts import rows
from context.receipts.queries import ReceiptQuerySet
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
from context.services.packer.snippets import ELLIPSIS
from context.services.rendering import render_context
from memories.models import Memory, MemoryVersion, PartitionSummary, TenantMemo
from memories.services.store.moments import PointInTime, TimeAxis
from memories.tenancy.exceptions import NotFound

#: Where in a stored plan the packer's figures stand.
OPTIMALITY = "optimality"


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


def build_receipt(
    context: AssembledContext, *, moment: PointInTime, tenant_id: UUID, api_key_id: str | None
) -> Receipt:
    """The record of a context that was read at `moment`, yet to be inserted. No query."""
    optimality = {} if context.optimality is None else {OPTIMALITY: dict(context.optimality)}
    packed = rows.encode_receipt(context.blocks, context.omitted, context.candidates)
    return Receipt(
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
        blocks=packed.blocks,
        omitted=packed.omitted,
        candidates=packed.candidates,
        plan={**context.plan, **optimality},
        warnings=[notice.as_answer() for notice in context.warnings],
        timings=dict(context.timings),
        text_sha256=context_text_hash(context.text),
        nonce_counter=context.nonce_counter,
        as_of=moment.at if moment.kind is TimeAxis.VALID else None,
        stable_prefix_tokens=context.stable_prefix_tokens,
        memory_ids=packed_memory_ids(context.blocks),
    )


def write_receipt(context: AssembledContext, *, moment: PointInTime, tenant_id: UUID, api_key_id: str | None) -> UUID:
    """Store the record of a context that was read at `moment`, and nothing else; inside a scope. One query."""
    receipt = build_receipt(context, moment=moment, tenant_id=tenant_id, api_key_id=api_key_id)
    Receipt.objects.insertion(receipt).run()
    return receipt.id


def read_receipt(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> StoredContext:
    """A context as it was given, its text rendered again from the versions it was made of.

    Five queries, inside a scope. Raises `NotFound` for a receipt outside of `reach`.
    """
    return stored_context(find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach))


def stored_context(receipt: Receipt) -> StoredContext:
    """The context of a receipt, its text rendered again. Four queries, inside a scope."""
    considered = _unpacked(receipt)
    blocks, missing = _with_texts(considered.blocks, receipt.tenant_id)
    rendered = render_context(
        blocks,
        style=receipt.request["render"],
        secret=settings.SECRET_KEY.encode(),
        tenant_id=str(receipt.tenant_id),
    )
    is_verified = not missing and context_text_hash(rendered.text) == receipt.text_sha256
    return StoredContext(_context(receipt, considered, blocks, rendered.text), is_verified)


def read_receipt_anchors(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> list[Anchor]:
    """The anchors of an earlier context in the order of its text. Raises `NotFound` as `read_receipt` does."""
    return receipt_anchors(find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach))


def receipt_anchors(receipt: Receipt) -> list[Anchor]:
    """The anchors of a receipt's blocks in the order of its text."""
    return [block.anchor for block in _unpacked(receipt).blocks]


def find_receipt(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> Receipt:
    """The receipt of a context within `reach`; inside a scope. Raises `NotFound` where there is none."""
    receipt: Receipt | None = Receipt.objects.for_tenant(tenant_id).for_reach(reach).with_id(receipt_id).first()
    if receipt is None:
        raise NotFound("not_found", "There is no such context.")
    return receipt


def list_receipts(
    *,
    tenant_id: UUID,
    reach: str,
    partition: str = "",
    key_prefix: str = "",
    after: datetime | None = None,
    before: datetime | None = None,
    asking: str = "",
) -> ReceiptQuerySet:
    """Receipts within `reach` without their details, for a page to order and cut.

    `partition` and what is below it, one key's, created at `after` or later and before `before`, with `asking`
    somewhere in the query whatever its case.
    """
    found: ReceiptQuerySet = Receipt.objects.for_tenant(tenant_id).for_reach(reach).within(partition)
    if key_prefix:
        found = found.of_key(key_prefix)
    if asking:
        found = found.asking(asking)
    return found.created_between(after, before).without_details()


def packed_memory_ids(blocks: Iterable[Block]) -> list[str]:
    """The memories that stand in the text, each once."""
    return list(dict.fromkeys(block.anchor.id for block in blocks if block.anchor.type == MEMORY))


def context_text_hash(text: str) -> str:
    """Hex SHA-256 of the text's UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _unpacked(receipt: Receipt) -> rows.ReceiptContents:
    return rows.decode_receipt(rows.ReceiptColumns(receipt.blocks, receipt.omitted, receipt.candidates))


def _context(
    receipt: Receipt, considered: rows.ReceiptContents, blocks: Sequence[Block], text: str
) -> AssembledContext:
    plan = dict(receipt.plan)
    optimality = plan.pop(OPTIMALITY, None)
    return AssembledContext(
        id=receipt.id,
        text=text,
        blocks=blocks,
        omitted=considered.omitted,
        budget=ContextBudget(**receipt.budget),
        profile=receipt.profile,
        budget_profile=receipt.budget_profile,
        warnings=[ContextWarning(**notice) for notice in receipt.warnings],
        timings=receipt.timings,
        candidates=considered.candidates,
        plan=plan,
        request=receipt.request,
        created_at=receipt.created_at,
        nonce_counter=receipt.nonce_counter,
        stable_prefix_tokens=receipt.stable_prefix_tokens,
        optimality=optimality,
    )


def _with_texts(blocks: Sequence[Block], tenant_id: UUID) -> tuple[list[Block], list[Anchor]]:
    """The blocks with their texts, and the anchors whose rows were erased since."""
    texts = _texts([block.anchor for block in blocks], tenant_id)
    found = [replace(block, text=_shown(texts[block.anchor], block.cut)) for block in blocks if block.anchor in texts]
    return found, [block.anchor for block in blocks if block.anchor not in texts]


def _shown(text: str, cut: int | None) -> str:
    """A stored text as it was rendered: whole, or up to its cut."""
    return text if cut is None else text[:cut] + ELLIPSIS


def _texts(anchors: Iterable[Anchor], tenant_id: UUID) -> Mapping[Anchor, str]:
    wanted = set(anchors)
    ids = {kind: {anchor.id for anchor in wanted if anchor.type == kind} for kind in (MEMORY, PARTITION_SUMMARY)}
    versions = {anchor.version for anchor in wanted}
    memories = [
        *MemoryVersion.objects.for_tenant(tenant_id).texts_of(ids[MEMORY], versions),
        *Memory.objects.for_tenant(tenant_id).texts_of(ids[MEMORY], versions),
    ]
    summaries = PartitionSummary.objects.for_tenant(tenant_id).texts_of(ids[PARTITION_SUMMARY], versions)
    memos = TenantMemo.objects.for_tenant(tenant_id).texts_of(versions)
    found = {Anchor(MEMORY, str(pk), version): text for pk, version, text in memories}
    found |= {Anchor(PARTITION_SUMMARY, str(pk), version): text for pk, version, text in summaries}
    found |= {Anchor(TENANT_MEMO, str(tenant_id), version): text for version, text in memos}
    return {anchor: text for anchor, text in found.items() if anchor in wanted}
