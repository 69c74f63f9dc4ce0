"""What a context would hold now against an earlier one, and one budget profile against another. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.receipts.results import Anchor, AssembledContext, Block, ContextRequest
from context.receipts.storing import find_receipt, receipt_anchors
from context.services.diff import diff_anchors
from memories.models import Snapshot
from memories.services.store.moments import PointInTime
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope


@dataclass(frozen=True)
class ContextDiffBaseline:
    """Against what to compare: exactly one of a context, a snapshot (its name or id) and a valid time."""

    context_id: UUID | None = None
    snapshot: str | None = None
    as_of: datetime | None = None


@dataclass(frozen=True)
class ContextDiff:
    """The context `now` and how its blocks differ from those before; added and kept in the order of the new text."""

    now: AssembledContext
    added: Sequence[Block]
    removed: Sequence[Anchor]
    kept: Sequence[Anchor]

    @property
    def tokens_estimated_added(self) -> int:
        """Tokens of the added texts, without what is around them."""
        return sum(block.tokens for block in self.added)

    def as_answer(self) -> dict[str, Any]:
        """As plain data; only what was added comes with its text."""
        return {
            "added": [block.as_answer() for block in self.added],
            "removed": [anchor.as_answer() for anchor in self.removed],
            "kept": [anchor.as_answer() for anchor in self.kept],
            "tokens_estimated_added": self.tokens_estimated_added,
            "budget": self.now.budget.as_answer(),
            "profile": dict(self.now.profile),
            "budget_profile": dict(self.now.budget_profile),
            "warnings": [notice.as_answer() for notice in self.now.warnings],
        }


def diff_contexts(
    request: ContextRequest, since: ContextDiffBaseline, *, tenant_id: UUID, reach: str, actor: Actor, now: datetime
) -> ContextDiff:
    """What `request` gives now that it did not give then; called with no scope open.

    A context is compared as it was given, a snapshot or a time by the same request on the rows of then. Raises as
    `assemble_context` does, `NotFound` for a context or snapshot that is not there, `InvalidInput` for a context of
    another partition.
    """
    _check(request, since, now)
    wanted = replace(request, preview=True)
    current = assemble_context(wanted, tenant_id=tenant_id, reach=reach, actor=actor, now=now)
    if since.context_id is not None:
        return _difference(_anchors_given(since.context_id, current, tenant_id, reach), current)
    then = replace(wanted, as_of=since.as_of, moment=snapshot_recorded_at(since.snapshot, tenant_id))
    try:
        earlier = assemble_context(then, tenant_id=tenant_id, reach=reach, actor=actor, now=now)
    except NotFound:
        # the focus is there now and was not then, so there was nothing to be about it
        return _difference([], current)
    return _difference(_anchors(earlier), current)


def diff_budget_profiles(
    request: ContextRequest, *, before: str, after: str, tenant_id: UUID, reach: str, actor: Actor, now: datetime
) -> ContextDiff:
    """What the budget profile `after` gives for `request` that `before` does not.

    Raises as `assemble_context` does, `InvalidInput` for an unknown profile with its field, `before` or `after`.
    """
    first, second = (
        _assembled(replace(request, preview=True, budget_profile=name), field, tenant_id, reach, actor, now)
        for field, name in (("before", before), ("after", after))
    )
    return _difference(_anchors(first), second)


def _assembled(
    request: ContextRequest, field: str, tenant_id: UUID, reach: str, actor: Actor, now: datetime
) -> AssembledContext:
    try:
        return assemble_context(request, tenant_id=tenant_id, reach=reach, actor=actor, now=now)
    except InvalidInput as error:
        if error.field != "budget_profile":
            raise
        raise InvalidInput(error.code, error.detail, field) from error


def _check(request: ContextRequest, since: ContextDiffBaseline, now: datetime) -> None:
    if sum(value is not None for value in (since.context_id, since.snapshot, since.as_of)) != 1:
        raise InvalidInput("one_since", "Compare with exactly one of context_id, snapshot and as_of.", "since")
    if since.as_of is not None and since.as_of.utcoffset() is None:
        raise InvalidInput("no_offset", "A time needs its offset from UTC.", "since.as_of")
    if since.as_of is not None and since.as_of > now:
        raise InvalidInput("in_the_future", "Only the past and the present can be compared.", "since.as_of")
    if request.as_of is not None:
        raise InvalidInput("as_of_unused", "The present is compared; say in `since` with what.", "as_of")


def _anchors_given(receipt_id: UUID, current: AssembledContext, tenant_id: UUID, reach: str) -> list[Anchor]:
    """The anchors of an earlier context of the same partition."""
    with tenant_scope(tenant_id):
        try:
            receipt = find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach)
        except NotFound as error:
            raise NotFound(error.code, error.detail, "since.context_id") from error
    if receipt.partition_path != current.request["partition"]:
        detail = "That context was about another partition; ask for the same one to compare."
        raise InvalidInput("another_partition", detail, "since.context_id")
    return receipt_anchors(receipt)


def snapshot_recorded_at(snapshot: str | None, tenant_id: UUID) -> PointInTime | None:
    """The recorded time of a snapshot, by its name or else its id; raises `NotFound` where there is none."""
    if snapshot is None:
        return None
    with tenant_scope(tenant_id):
        rows = Snapshot.objects.for_tenant(tenant_id)
        found: Snapshot | None = rows.named(snapshot).first()
        if found is None and (snapshot_id := _uuid(snapshot)):
            found = rows.with_id(snapshot_id).first()
    if found is None:
        raise NotFound("not_found", "There is no such snapshot.", "since.snapshot")
    return PointInTime.recorded(found.recorded_at)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _anchors(context: AssembledContext) -> list[Anchor]:
    return [block.anchor for block in context.blocks]


def _difference(prior: Sequence[Anchor], current: AssembledContext) -> ContextDiff:
    blocks = {block.anchor: block for block in current.blocks}
    difference = diff_anchors(prior, list(blocks))
    return ContextDiff(
        now=current,
        added=[blocks[anchor] for anchor in difference.added],
        removed=difference.removed,
        kept=difference.kept,
    )
