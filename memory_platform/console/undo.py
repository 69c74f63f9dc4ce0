"""Undo an act by its audit entry. Called inside a scope."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from compaction.models import Compaction
from compaction.review.actions import reopen_compaction, undo_approval
from context.models import ScoringProfileVersion
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS, SCORING_ASSIGNMENTS
from context.profiles.actions.budget_profiles import restore_budget_profile, roll_back_budget_profile
from context.profiles.actions.scoring_profiles import roll_back_scoring_profile
from memories.hygiene.actions import undo_hygiene
from memories.models import ApiKey, AuditEntry, Memory
from memories.store.actions.edit import archive_memory, restore_memory
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, NotFound
from memory_platform.console.acts import STORED_ACTS, is_archived_by

_APPLIED = ("apply_compaction", "approve_compaction")
_ASSIGNMENTS = {"budget_profile": BUDGET_ASSIGNMENTS, "scoring_profile": SCORING_ASSIGNMENTS}


def undo_act(entry: AuditEntry, *, by: Actor, now: datetime) -> str:
    """Undo an act and describe the result. Raises `NotFound`, or `Conflict` if the act is no longer in effect."""
    undo = _undo_hygiene if entry.verb in STORED_ACTS else _UNDO.get(entry.verb)
    if undo is None:
        raise Conflict("cannot_undo", "This act cannot be undone.")
    return undo(entry, by=by, now=now)


def _undo_hygiene(entry: AuditEntry, **who: Any) -> str:
    return str(undo_hygiene(tenant_id=entry.tenant_id, act_id=entry.pk, **who))


def _restore(entry: AuditEntry, **who: Any) -> str:
    memory = _memory(entry)
    if memory.archived_at is not None and not is_archived_by(entry, memory):
        raise Conflict("changed", "Another act has archived the memory since then. Undo that act.")
    restore_memory(memory=memory, if_version=memory.version, **who)
    return "Undone: the memory is live again."


def _archive(entry: AuditEntry, **who: Any) -> str:
    archive_memory(memory=_memory(entry), **who)
    return "Undone: the memory is archived again."


def _memory(entry: AuditEntry) -> Memory:
    row: Memory | None = Memory.objects.for_tenant(entry.tenant_id).with_id(entry.target_ids[0]).first()
    if row is None:
        raise NotFound("not_found", "The memory no longer exists.")
    return row


def _review_again(entry: AuditEntry, **who: Any) -> str:
    rows = Compaction.objects.for_tenant(entry.tenant_id).with_sessions()
    row: Compaction | None = rows.with_id(entry.target_ids[0]).first()
    if row is None:
        raise NotFound("not_found", "The compaction no longer exists.")
    undo = undo_approval if entry.verb in _APPLIED else reopen_compaction
    undo(compaction=row, **who)
    return "Undone: the compaction waits for review again."


def _return_to_budget(entry: AuditEntry, **who: Any) -> str:
    name, version = _version(entry)
    former = version - 1
    roll_back_budget_profile(tenant_id=entry.tenant_id, name=name, version=former, replaces=version, **who)
    return f"Undone: {name} has the settings of version {former} again."


def _restore_budget(entry: AuditEntry, **who: Any) -> str:
    name, _ = _version(entry)
    restore_budget_profile(tenant_id=entry.tenant_id, name=name, **who)
    return f"Undone: {name} is in use again."


def _return_to_scoring(entry: AuditEntry, **who: Any) -> str:
    name, version = _version(entry)
    rows = ScoringProfileVersion.objects.for_tenant(entry.tenant_id).named(name)
    former = rows.filter(published_at__isnull=False, recorded_to__isnull=False).exclude(version=version)
    before: ScoringProfileVersion | None = former.order_by("-recorded_to").first()
    if before is None:
        raise Conflict("no_former_version", "No other version of this profile was published. Retire it instead.")
    number = before.version
    roll_back_scoring_profile(tenant_id=entry.tenant_id, name=name, version=number, replaces=version, **who)
    return f"Undone: version {number} of {name} is active again."


def _version(entry: AuditEntry) -> tuple[str, int]:
    name, _, version = entry.target_ids[-1].rpartition(" ")
    return name, int(version)


def _return_assignment(entry: AuditEntry, **who: Any) -> str:
    name, place = entry.target_ids
    is_key = ApiKey.objects.for_tenant(entry.tenant_id).filter(pk=place).exists()
    target = {"api_key_id": place} if is_key else {"partition_path": "" if place == "tenant" else place}
    has_ended = entry.verb.startswith("unassign_")
    assignments: Any = _ASSIGNMENTS[entry.target_kind]
    assignments.undo(tenant_id=entry.tenant_id, profile_name=name, has_ended=has_ended, **who, **target)
    return "Undone: the assignment is as it was."


_UNDO: Mapping[str, Callable[..., str]] = {
    "archive_memory": _restore,
    "restore_memory": _archive,
    **dict.fromkeys((*_APPLIED, "reject_compaction", "roll_back_compaction"), _review_again),
    **dict.fromkeys(("save_budget_profile", "roll_back_budget_profile"), _return_to_budget),
    "retire_budget_profile": _restore_budget,
    **dict.fromkeys(("publish_scoring_profile", "roll_back_scoring_profile"), _return_to_scoring),
    **{f"{verb}_{kind}": _return_assignment for verb in ("assign", "unassign") for kind in _ASSIGNMENTS},
}


def find_act(tenant_id: UUID, entry_id: UUID) -> AuditEntry | None:
    """Return the audit entry of an act of the tenant."""
    entry: AuditEntry | None = AuditEntry.objects.for_tenant(tenant_id).with_id(entry_id).first()
    return entry
