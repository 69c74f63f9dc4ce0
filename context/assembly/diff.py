"""Compare a context with an earlier one, or under two budget profiles. Nothing is stored or counted."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.receipts.results import Anchor, AssembledContext, Block, ContextRequest
from context.receipts.storing import find_receipt, receipt_anchors
from context.services.diff import diff_anchors
from memories.models import Snapshot
from memories.services.store.moments import PointInTime
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope


@dataclass(frozen=True)
class ContextDiff:
    """The context `now` and how its blocks differ from earlier ones; added and kept in the order of the new text."""

    now: AssembledContext
    added: Sequence[Block]
    removed: Sequence[Anchor]
    kept: Sequence[Anchor]

    @classmethod
    def between(cls, prior: Iterable[Anchor], now: AssembledContext) -> "ContextDiff":
        """Return how the blocks of `now` differ from those with the anchors `prior`."""
        blocks = {block.anchor: block for block in now.blocks}
        anchors = diff_anchors(prior, blocks)
        return cls(now, [blocks[anchor] for anchor in anchors.added], anchors.removed, anchors.kept)

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """Return plain data; only added blocks come with their text. `explain` explains the context now."""
        whole = self.now.as_answer(explain=explain)
        names = ("budget", "profile", "budget_profile", "warnings", "explain")
        return {
            "added": [block.as_answer() for block in self.added],
            "removed": [anchor.as_answer() for anchor in self.removed],
            "kept": [anchor.as_answer() for anchor in self.kept],
            "tokens_estimated_added": sum(block.tokens for block in self.added),
            **{name: whole[name] for name in names if name in whole},
        }


def diff_contexts(
    request: ContextRequest,
    caller: ContextCaller,
    *,
    context_id: UUID | None = None,
    snapshot: str | None = None,
    as_of: datetime | None = None,
) -> ContextDiff:
    """Return the difference between the context of `request` now and the earlier one. Call with no scope open.

    The earlier one is exactly one of a context, that of a snapshot (its name or id) and that of a valid time. A receipt
    is compared as it is stored; for a snapshot or a time, the same request is assembled from its data. Raises
    as `assemble_context` does, `NotFound` for an unknown context or snapshot, `InvalidInput` for a context of another
    partition.
    """
    if request.as_of is not None:
        raise InvalidInput(
            "as_of_unused", "The request is compared at the current time; send the other time in `since`.", "as_of"
        )
    preview = replace(request, preview=True)
    current = assemble_context(preview, caller)
    if context_id is not None:
        return ContextDiff.between(_receipt_anchors(context_id, current, caller), current)
    then = replace(preview, as_of=as_of, moment=snapshot_recorded_at(snapshot, caller.tenant_id))
    try:
        earlier = assemble_context(then, caller)
    except NotFound:
        # the focus did not exist then, so no context about it was possible
        return ContextDiff.between([], current)
    return ContextDiff.between((block.anchor for block in earlier.blocks), current)


def diff_budget_profiles(request: ContextRequest, caller: ContextCaller, *, before: str, after: str) -> ContextDiff:
    """Return the difference between the contexts of two budget profiles; an error names `profiles.0` or `.1`."""
    contexts = []
    for number, name in enumerate((before, after)):
        try:
            contexts.append(assemble_context(replace(request, preview=True, budget_profile=name), caller))
        except InvalidInput as error:
            if error.field != "budget_profile":
                raise
            raise InvalidInput(error.code, error.detail, f"profiles.{number}") from error
    return ContextDiff.between((block.anchor for block in contexts[0].blocks), contexts[1])


def _receipt_anchors(receipt_id: UUID, current: AssembledContext, caller: ContextCaller) -> list[Anchor]:
    with tenant_scope(caller.tenant_id):
        try:
            receipt = find_receipt(tenant_id=caller.tenant_id, receipt_id=receipt_id, reach=caller.reach)
        except NotFound as error:
            raise NotFound(error.code, error.detail, "since.context_id") from error
    is_same_focus = current.request["focus"] and receipt.request["focus"] == current.request["focus"]
    if receipt.partition_path != current.request["partition"] and not is_same_focus:
        detail = "That context is about another partition; request the same one to compare."
        raise InvalidInput("another_partition", detail, "since.context_id")
    return receipt_anchors(receipt)


def snapshot_recorded_at(snapshot: str | None, tenant_id: UUID) -> PointInTime | None:
    """Return the recorded time of a snapshot by its name or else its id. Raises `NotFound`."""
    if snapshot is None:
        return None
    with tenant_scope(tenant_id):
        rows = Snapshot.objects.for_tenant(tenant_id)
        row: Snapshot | None = rows.named(snapshot).first()
        if row is None:
            with suppress(ValueError):
                row = rows.with_id(UUID(snapshot)).first()
    if row is None:
        raise NotFound("not_found", "There is no such snapshot.", "since.snapshot")
    return PointInTime.recorded(row.recorded_at)
