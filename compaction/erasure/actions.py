"""Request an erasure or its dry run, and set retention policies (ADR-0130)."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from compaction.erasure.selection import Selection, state_hash
from compaction.models import Erasure, RetentionPolicy
from compaction.models.erasure import RETENTION_DAYS_MAX
from compaction.tasks import enqueue_erasure
from memories.models import Memory, Partition, Tenant
from memories.tenancy.audit import Actor, ChangedValue, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, StaleVersion
from memories.tenancy.required_rows import find_row


@transaction.atomic
def request_erasure(
    *,
    tenant: Tenant,
    memory_id: UUID | None = None,
    partition: str | None = None,
    is_dry_run: bool = False,
    is_enqueued: bool = True,
    shown: str | None = None,
    by: Actor,
    now: datetime,
) -> Erasure:
    """Queue the erasure of a memory, a partition or, without either, the tenant; inside the tenant's scope.

    Raises `NotFound`, and `InvalidInput` for the root, which is the tenant. Raises `StaleVersion` if `shown` is not the
    state of the memories and sessions to erase, which a dry run keeps as its `counted_state`.
    """
    erasure = Erasure(tenant_id=tenant.pk, scope=Erasure.Scope.TENANT, is_dry_run=is_dry_run, created_at=now)
    if memory_id is not None:
        memory = find_row(Memory.objects.for_tenant(tenant.pk).with_id(memory_id), Memory, field="memory_id")
        erasure.scope = Erasure.Scope.MEMORY
        erasure.memory_id, erasure.partition_path = memory_id, memory.partition_path
    elif partition is not None:
        _check_partition(tenant, partition)
        erasure.scope, erasure.partition_path = Erasure.Scope.PARTITION, partition
    if is_dry_run:
        erasure.counted_state = state_hash(Selection(erasure).state())
    elif shown is not None and shown != state_hash(Selection(erasure).state()):
        detail = "Memories or sessions were added, changed or removed since the count. Check, then repeat."
        raise StaleVersion("stale_version", detail)
    erasure.requested_by, erasure.requested_by_id = by.stored_label, by.id
    erasure.save(force_insert=True)
    if not is_dry_run:
        record_audit("request_erasure", "erasure", [erasure.pk], tenant_id=tenant.pk, by=by, now=now)
    if is_enqueued:
        enqueue_erasure(tenant.pk, erasure.pk)
    return erasure


def _check_partition(tenant: Tenant, path: str) -> None:
    if not path:
        raise InvalidInput("is_the_tenant", "The root is the whole tenant: erase the tenant instead.", "partition")
    find_row(Partition.objects.for_tenant(tenant.pk).at([path]), Partition, field="partition")


@transaction.atomic
def retry_erasure(*, erasure: Erasure, is_enqueued: bool = True, by: Actor, now: datetime) -> Erasure:
    """Continue a failed erasure. Raises `Conflict` `not_failed`."""
    failed = Erasure.objects.for_tenant(erasure.tenant_id).with_id(erasure.pk).failed()
    if not failed.update(state=Erasure.State.QUEUED, attempts=0, error_code=""):
        raise Conflict("not_failed", "Only a failed erasure can be resumed.")
    record_audit("retry_erasure", "erasure", [erasure.pk], tenant_id=erasure.tenant_id, by=by, now=now)
    if is_enqueued:
        enqueue_erasure(erasure.tenant_id, erasure.pk)
    erasure.refresh_from_db()
    return erasure


@transaction.atomic
def set_retention_policy(
    *,
    tenant: Tenant,
    partition: str,
    days: int,
    age_from: str,
    shown: Collection[str] | None = None,
    by: Actor,
    now: datetime,
) -> RetentionPolicy:
    """Set after how many days the memories and sessions of a partition are erased. Raises `InvalidInput`.

    `shown` are the states of all policies that the caller saw. Raises `StaleVersion` if none of them is that of the
    policy to replace, or if there is no policy to replace and the caller saw one.
    """
    if age_from not in RetentionPolicy.From.values:
        raise InvalidInput("unknown", f"Use one of {', '.join(RetentionPolicy.From.values)}.", "age_from")
    if not 1 <= days <= RETENTION_DAYS_MAX:
        raise InvalidInput("out_of_range", f"Use 1 to {RETENTION_DAYS_MAX:,} days.", "days")
    values = {"days": days, "created_by": by.stored_label, "created_at": now}
    policy: RetentionPolicy
    policy, is_new = RetentionPolicy.objects.select_for_update().get_or_create(
        tenant_id=tenant.pk, partition_path=partition, age_from=age_from, defaults=values
    )
    former = None if is_new else policy.days
    if shown is not None:
        seen = {state for state in shown if state.startswith(f"{policy.target}.")}
        _require_unchanged(policy, seen == (set() if is_new else {policy.state}), is_removed=is_new)
    if not is_new:
        for name, value in values.items():
            setattr(policy, name, value)
        policy.save(update_fields=list(values))
    _audit_policy("set_retention", policy, former, days, by, now)
    return policy


@transaction.atomic
def remove_retention_policy(*, policy: RetentionPolicy, shown: str | None = None, by: Actor, now: datetime) -> None:
    """End a policy; rows that it has not erased yet are kept.

    Raises `NotFound` if it was removed meanwhile, and `StaleVersion` if its state is not `shown`.
    """
    rows = RetentionPolicy.objects.for_tenant(policy.tenant_id).with_id(policy.pk)
    current: RetentionPolicy = find_row(rows.select_for_update(), RetentionPolicy, "retention policy")
    _require_unchanged(current, shown in (None, current.state))
    _audit_policy("remove_retention", current, current.days, None, by, now)
    current.delete()


def _audit_policy(
    verb: str, policy: RetentionPolicy, before: int | None, after: int | None, by: Actor, now: datetime
) -> None:
    """Name the partition, so that an erasure can redact it, and the period, because the policy changes or ends."""
    targets, details = [policy.partition_path or "Whole tenant"], {"days": policy.days, "age_from": policy.age_from}
    changes = [ChangedValue(policy.partition_path, policy.age_from, before, after)]
    who: dict[str, Any] = {"tenant_id": policy.tenant_id, "by": by, "now": now}
    record_audit(verb, "retention_policy", targets, fields=["days"], details=details, changes=changes, **who)


def _require_unchanged(policy: RetentionPolicy, is_as_shown: bool, *, is_removed: bool = False) -> None:
    if is_as_shown:
        return
    set_by = f"{policy.days} days, by {policy.created_by}" if policy.created_by else f"{policy.days} days"
    change = "was removed since the page was opened" if is_removed else f"has changed since: {set_by}"
    raise StaleVersion("stale_version", f"This policy {change}. Check the policies, then repeat.")
