"""Seal audit entries, check the seals, redact entries, and delete a log with its tenant (ADR-0142).

A worker seals: writing an entry never waits. Functions that open a scope say so; the others are steps in a scope.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, Self
from uuid import UUID

from django.core.cache import cache

from memories.models import AuditCheck, AuditEntry, AuditSeal, Tenant, UnsealedAuditEntry
from memories.services.tenancy.audit_seals import (
    BEFORE_ALL,
    FIRST_HASH,
    AuditProblem,
    BrokenEntry,
    ChainCheck,
    KnownSeal,
    content_hash,
    seal_hash,
)
from memories.services.time_limits import in_time
from memories.tenancy.queries.audit import delete_audit_rows, lock_audit_seals, redact_audit_rows
from memories.tenancy.scopes import in_batches, maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn
from memory_platform.postgres.roles import logged_in_for_maintenance

#: Maximum entries sealed in one transaction.
SEALED_BATCH = 1_000
#: Seals per read of a check.
CHECKED_BATCH = 2_000
#: The interval at which the scheduled check reads a whole log.
WHOLE_CHECK_INTERVAL = timedelta(days=7)
#: The time of an entry may be this long before that of its seal.
LATE_ENTRIES_MAX = timedelta(days=1)


@dataclass(frozen=True)
class AuditLogState:
    """The result of a check: the last correct seal, the first broken entry, and the number of unsealed entries."""

    last: KnownSeal
    last_sealed_at: datetime | None
    broken: BrokenEntry | None
    waiting: int


@dataclass
class _Chain:
    """The end of a tenant's chain, to which seals are added under its lock."""

    tenant_id: UUID
    now: datetime
    number: int
    last_hash: str
    made: list[AuditSeal] = field(default_factory=list)

    @classmethod
    def locked(cls, tenant_id: UUID, now: datetime) -> Self:
        lock_audit_seals(tenant_id)
        last = AuditSeal.objects.for_tenant(tenant_id).last_one()
        return cls(tenant_id, now, last.number if last else 0, last.seal_hash if last else FIRST_HASH)

    def add(self, entry: AuditEntry, *, is_redaction: bool = False) -> None:
        self.number += 1
        seal = AuditSeal(tenant_id=self.tenant_id, number=self.number, entry_id=entry.pk, sealed_at=self.now)
        seal.is_redaction, seal.content_hash = is_redaction, content_hash(entry)
        seal.seal_hash = self.last_hash = seal_hash(self.last_hash, seal)
        self.made.append(seal)

    def store(self) -> None:
        AuditSeal.objects.bulk_create(self.made)


@logged_in_for_maintenance()
def seal_audit_entries(*, now: datetime) -> int:
    """Seal the waiting entries of all tenants; return how many. Opens its own scopes."""
    with maintenance_scope():
        tenant_ids = UnsealedAuditEntry.objects.tenant_ids()
    return sum(
        seal_audit_entries_of(tenant_id, now=now) for tenant_id in tenants_in_turn("seal-audit-entries", tenant_ids)
    )


@logged_in_for_maintenance()
def seal_audit_entries_of(tenant_id: UUID, *, now: datetime) -> int:
    """Seal the waiting entries of a tenant in batches; return how many. Opens its own scopes."""
    return in_batches(tenant_id, partial(_seal_batch, tenant_id, now), SEALED_BATCH)


def _seal_batch(tenant_id: UUID, now: datetime) -> int:
    chain = _Chain.locked(tenant_id, now)
    rows = UnsealedAuditEntry.objects.for_tenant(tenant_id)
    waiting = rows.oldest(SEALED_BATCH)
    entries = AuditEntry.objects.for_tenant(tenant_id).in_bulk([entry_id for _, entry_id in waiting])
    for _, entry_id in waiting:
        if entry_id in entries:  # missing entries cannot be overlooked, because nothing deletes an entry alone
            chain.add(entries[entry_id])
    chain.store()
    rows.with_ids(pk for pk, _ in waiting).delete()
    return len(waiting)


def redact_audit_entries(tenant_id: UUID, entries: Sequence[AuditEntry], *, now: datetime) -> None:
    """Store entries from which an erasure removed text, with a seal for each one that had a seal."""
    chain = _Chain.locked(tenant_id, now)
    redact_audit_rows(tenant_id, [(entry.pk, entry.reason, entry.target_ids) for entry in entries])
    sealed = AuditSeal.objects.for_tenant(tenant_id).of_entries(entry.pk for entry in entries)
    sealed_ids = {seal.entry_id for seal in sealed}
    for entry in entries:
        if entry.pk in sealed_ids:
            chain.add(entry, is_redaction=True)
    chain.store()


def delete_audit_log(tenant_ids: Iterable[UUID]) -> None:
    """Delete the audit logs of tenants whose rows this transaction has deleted."""
    for tenant_id in tenant_ids:
        delete_audit_rows(tenant_id)


def check_audit_log(
    tenant_id: UUID,
    *,
    known: KnownSeal | None = None,
    is_whole: bool = True,
    start: KnownSeal = BEFORE_ALL,
    reached: Callable[[KnownSeal], object] = lambda _: None,
) -> AuditLogState:
    """Compare every entry of a tenant with its seal, and every seal with the one before. Opens its own scopes.

    Unless `is_whole`, start with the seal `known`: changes before it are not found. An interrupted check continues at
    `start`, the last seal that was passed to `reached`.
    """
    if not (is_whole or known is None or start.number):
        start = _seal_before(tenant_id, known)
    check = ChainCheck(known, start=start)
    broken = _first_broken(tenant_id, check, reached) or check.missing_end()
    since = None if is_whole or check.last_sealed_at is None else check.last_sealed_at - LATE_ENTRIES_MAX
    with tenant_scope(tenant_id):
        broken = broken or _unsealed(tenant_id, since)
        waiting = UnsealedAuditEntry.objects.for_tenant(tenant_id).row_count()
    return AuditLogState(check.last, check.last_sealed_at, broken, waiting)


def _seal_before(tenant_id: UUID, known: KnownSeal) -> KnownSeal:
    """Return the seal from which a known one is computed again."""
    if known.number <= 1:
        return BEFORE_ALL
    with tenant_scope(tenant_id):
        number = known.number - 1
        return KnownSeal(number, AuditSeal.objects.for_tenant(tenant_id).hash_of(number))


def _first_broken(tenant_id: UUID, check: ChainCheck, reached: Callable[[KnownSeal], object]) -> BrokenEntry | None:
    """Check in batches, each in its own transaction, so that sealing can continue in between."""
    seals, entries = AuditSeal.objects.for_tenant(tenant_id), AuditEntry.objects.for_tenant(tenant_id)
    broken: BrokenEntry | None = None
    for _ in in_time(count()):
        with tenant_scope(tenant_id):
            # Redactions that follow would make their entries look changed.
            lock_audit_seals(tenant_id)
            batch = list(seals.after(check.last.number, CHECKED_BATCH))
            ids = [seal.entry_id for seal in batch]
            broken = check.first_broken(batch, entries.in_bulk(ids), seals.redacted_hashes(ids))
        if broken or len(batch) < CHECKED_BATCH:
            break
        reached(check.last)
    return broken


def _unsealed(tenant_id: UUID, since: datetime | None) -> BrokenEntry | None:
    seals, waiting = AuditSeal.objects.for_tenant(tenant_id), UnsealedAuditEntry.objects.for_tenant(tenant_id)
    entries = AuditEntry.objects.for_tenant(tenant_id)
    if since is not None:
        entries = entries.since(since)
    entry = entries.unsealed_and_unqueued(seals, waiting).order_by("at", "id").first()
    return BrokenEntry(AuditProblem.ENTRY_NOT_SEALED, entry.pk) if entry else None


@logged_in_for_maintenance()
def check_audit_logs(*, now: datetime) -> int:
    """Check the audit log of every visible tenant and store the results; return how many are broken. Opens scopes.

    Each check continues from the last correct seal; the whole log is checked once a week and after a problem.
    """
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.visible().values_list("pk", flat=True))
    return sum(_check_and_store(tenant_id, now) for tenant_id in tenants_in_turn("check-audit-logs", tenant_ids))


def _check_and_store(tenant_id: UUID, now: datetime) -> bool:
    with tenant_scope(tenant_id):
        before = last_audit_check(tenant_id)
    known = KnownSeal(before.last_number, before.last_hash) if before else None
    is_whole = before is None or _needs_whole(before, now)
    # of a check that ran out of time; a complete check must not continue where an hourly one stopped, because that one
    # skipped the start
    place = f"audit-check.{'whole' if is_whole else 'hourly'}.{tenant_id}"
    start = KnownSeal(*cache.get(place, (BEFORE_ALL.number, BEFORE_ALL.seal_hash)))

    def keep_place(seal: KnownSeal) -> None:
        cache.set(place, (seal.number, seal.seal_hash), WHOLE_CHECK_INTERVAL.total_seconds())

    state = check_audit_log(tenant_id, known=known, is_whole=is_whole, start=start, reached=keep_place)
    cache.delete(place)
    broken = state.broken
    values: dict[str, Any] = {
        "checked_at": now,
        "problem": broken.problem if broken else "",
        "problem_entry_id": broken and broken.entry_id,
    }
    if is_whole:
        values["whole_checked_at"] = now
    if broken is None or before is None:  # otherwise, the log is still compared with the earlier end
        values |= {"last_number": state.last.number, "last_hash": state.last.seal_hash}
        values |= {"last_sealed_at": state.last_sealed_at}
    with tenant_scope(tenant_id):
        AuditCheck.objects.update_or_create(tenant_id=tenant_id, defaults=values)
    return broken is not None


def _needs_whole(before: AuditCheck, now: datetime) -> bool:
    is_due = before.whole_checked_at is None or now - before.whole_checked_at >= WHOLE_CHECK_INTERVAL
    return is_due or bool(before.problem) or before.last_number == 0


def last_audit_check(tenant_id: UUID) -> AuditCheck | None:
    """Return the result of the last scheduled check, None before the first."""
    check: AuditCheck | None = AuditCheck.objects.for_tenant(tenant_id).first()
    return check
