"""Undo an act by its audit entry. Called inside a scope."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from compaction.alerts.actions import remove_alert_destination, restore_alert_destination
from compaction.models import AlertDestination, Compaction, Message, Session
from compaction.pipeline.actions import save_prompt
from compaction.pipeline.prompt_versions import prompt_version_text
from compaction.review.actions import mark_compaction_reviewed, reopen_compaction, undo_approval, withdraw_review
from compaction.sessions.actions import close_session, pin_message, restore_session
from context.evaluation.actions.golden_questions import remove_golden_question, restore_golden_question
from context.models import GoldenQuestion, ScoringProfileVersion
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS, SCORING_ASSIGNMENTS
from context.profiles.actions.budget_profiles import (
    restore_budget_profile,
    retire_budget_profile,
    roll_back_budget_profile,
)
from context.profiles.actions.scoring_profiles import (
    restore_scoring_profile,
    retire_scoring_profile,
    roll_back_scoring_profile,
)
from memories.hygiene.actions import archive_memories, redo_hygiene, undo_hygiene
from memories.models import (
    ApiKey,
    AuditEntry,
    Invitation,
    Memory,
    MemoryLink,
    MemoryVersion,
    PartitionSummary,
    SavedView,
    Snapshot,
    StoredAct,
    Tenant,
    TenantMemo,
)
from memories.partitions.actions import (
    delete_snapshot,
    link_memories,
    save_summary,
    set_tenant_memo,
    unlink_memories,
    withdraw_summary,
)
from memories.services.partitions.paths import parse_partition
from memories.services.tenancy.act_labels import REPEATED_ACTS, STORED_ACTS
from memories.store.actions.edit import RESTORED_FIELDS, archive_memory, restore_memory, update_memory
from memories.tenancy.actions.invitations import revoke_invitation
from memories.tenancy.actions.saved_views import restore_view
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, NotFound
from memory_platform.console.act_values import VALUE_KINDS, changed_later, set_former_values
from memory_platform.console.activity import is_archived_by, latest_acts
from memory_platform.console.undo_rules import UNDONE_WHILE_LATEST
from memory_platform.web.numerals import counted, versioned_name

_APPLIED = ("apply_compaction", "approve_compaction")
_ASSIGNMENTS = {"budget_profile": BUDGET_ASSIGNMENTS, "scoring_profile": SCORING_ASSIGNMENTS}


def undo_act(entry: AuditEntry, *, by: Actor, now: datetime) -> str:
    """Undo an act and describe the result. Raises `NotFound`, or `Conflict` if the act is no longer in effect."""
    undo = UNDO.get(entry.verb)
    if undo is None:
        raise Conflict("cannot_undo", "This change cannot be undone.")
    if entry.verb in UNDONE_WHILE_LATEST and not latest_acts(entry.tenant_id, [entry]):
        raise changed_later()
    return undo(entry, by=by, now=now)


def _undo_hygiene(entry: AuditEntry, **who: Any) -> str:
    undo = redo_hygiene if entry.verb.startswith("undo_") else undo_hygiene
    return str(undo(tenant_id=entry.tenant_id, act_id=entry.pk, **who))


def _set_former_values(entry: AuditEntry, *, by: Actor, now: datetime) -> str:
    acts = StoredAct.objects.for_tenant(entry.tenant_id).with_id(entry.pk).filter(undone_at=None)
    act = acts.select_for_update().first()
    if act is None:
        raise Conflict("cannot_undo", "The change was undone, or its former values are no longer stored.")
    said = set_former_values(entry.verb, entry.tenant_id, act.changed, by=by, now=now)
    act.undone_at = now
    act.save(update_fields=["undone_at"])
    return said


def _restore(entry: AuditEntry, **who: Any) -> str:
    memory = _memory(entry)
    if memory.archived_at is not None and not is_archived_by(entry, memory):
        raise Conflict("changed", "The memory was archived again later. Undo that change.")
    restore_memory(memory=memory, if_version=memory.version, **who)
    return "Undone: the memory is live again."


def _archive(entry: AuditEntry, **who: Any) -> str:
    archive_memory(memory=_memory(entry), **who)
    return "Undone: the memory is archived again."


def _archive_all(entry: AuditEntry, **who: Any) -> str:
    rows = Memory.objects.for_tenant(entry.tenant_id).unarchived().with_ids(entry.target_ids)
    ids = [row.pk for row in rows.filter(recorded_from__lte=entry.at)]
    if not ids:
        raise changed_later()
    archive_memories(tenant_id=entry.tenant_id, memory_ids=ids, **who)
    return f"Undone: {counted(len(ids), 'memory is', 'memories are')} archived."


def _memory(entry: AuditEntry) -> Memory:
    row: Memory | None = Memory.objects.for_tenant(entry.tenant_id).with_id(entry.target_ids[0]).first()
    if row is None:
        raise NotFound("not_found", "The memory no longer exists.")
    return row


def _former_version(entry: AuditEntry, **who: Any) -> str:
    memory = _memory(entry)
    rows = MemoryVersion.objects.for_tenant(entry.tenant_id).of_memory(memory.pk)
    former = rows.numbered(memory.version - 1)
    if memory.recorded_from > entry.at or former is None:
        raise changed_later()
    changes = {name: getattr(former, name) for name in RESTORED_FIELDS}
    update_memory(memory=memory, changes=changes, if_version=memory.version, **who)
    return f"Undone: version {former.version} is current again."


def _target(entry: AuditEntry, model: Any) -> Any:
    """Return the row that an act is about."""
    row = model.objects.for_tenant(entry.tenant_id).with_id(entry.target_ids[0]).first()
    if row is None:
        raise NotFound("not_found", "What was changed no longer exists.")
    return row


def _by_action(action: Callable[..., Any], model: Any, name: str, said: str, **options: Any) -> Callable[..., str]:
    """Return the undo that calls an action with the target as its argument `name`."""

    def undo(entry: AuditEntry, **who: Any) -> str:
        action(**{name: _target(entry, model)}, **options, **who)
        return f"Undone: {said}"

    return undo


def _return_to_memo(entry: AuditEntry, **who: Any) -> str:
    current, *former = TenantMemo.objects.for_tenant(entry.tenant_id).newest_first()[:2]
    content = former[0].content if former else ""
    tenant = Tenant.objects.get(pk=entry.tenant_id)
    set_tenant_memo(tenant=tenant, content=content, if_version=current.version, **who)
    return "Undone: the memo has its former text again." if former else "Undone: the memo is empty again."


def _return_to_summary(entry: AuditEntry, **who: Any) -> str:
    rows = PartitionSummary.objects.for_tenant(entry.tenant_id).of_summary(UUID(entry.target_ids[0]))
    latest, *others = rows[:2]
    is_withdrawn = latest.recorded_to is not None
    former = latest if is_withdrawn else next((row for row in others if row.recorded_to == latest.recorded_from), None)
    if former is None:
        withdraw_summary(summary=latest, **who)
        return "Undone: the partition has no such summary again."
    save_summary(
        tenant=Tenant.objects.get(pk=entry.tenant_id),
        partition=parse_partition(former.partition.path),
        style=former.style,
        content=former.content,
        origin=former.origin,
        summariser=former.summariser,
        is_fallback=former.is_fallback,
        if_version=0 if is_withdrawn else latest.version,
        **who,
    )
    return f"Undone: the text of version {former.version} is active again."


def _change_link(entry: AuditEntry, **who: Any) -> str:
    source, target = map(UUID, entry.target_ids)
    links = MemoryLink.objects.for_tenant(entry.tenant_id).from_memory(source).to_memory(target)
    if entry.verb == "link_memories":
        for link in links.current().began_at(entry.at):
            unlink_memories(link=link, **who)
        return "Undone: the memories are no longer linked."
    for link in links.ended_at(entry.at).select_related("source", "target"):
        link_memories(source=link.source, target=link.target, kind=link.kind, **who)
    return "Undone: the memories are linked again."


def _return_to_prompt(entry: AuditEntry, **who: Any) -> str:
    version = int(entry.target_ids[0])
    text = prompt_version_text(entry.tenant_id, version - 1)
    save_prompt(tenant_id=entry.tenant_id, text=text, edited_from=version, rolled_back_to=version - 1, **who)
    return f"Undone: the prompt has the text of version {version - 1} again."


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
    return f"Undone: the settings of {versioned_name(name, former)} are active again."


def _restore_budget(entry: AuditEntry, **who: Any) -> str:
    name, _ = _version(entry)
    restore_budget_profile(tenant_id=entry.tenant_id, name=name, **who)
    return f"Undone: {name} is in use again."


def _retire_budget(entry: AuditEntry, **who: Any) -> str:
    name, _ = _version(entry)
    retire_budget_profile(tenant_id=entry.tenant_id, name=name, **who)
    return f"Undone: {name} is retired."


def _retire_scoring(entry: AuditEntry, **who: Any) -> str:
    name, version = _version(entry)
    retire_scoring_profile(tenant_id=entry.tenant_id, name=name, version=version, **who)
    return f"Undone: {versioned_name(name, version)} is retired."


def _restore_scoring(entry: AuditEntry, **who: Any) -> str:
    name, version = _version(entry)
    row = restore_scoring_profile(tenant_id=entry.tenant_id, name=name, version=version, retired_at=entry.at, **who)
    return f"Undone: {versioned_name(name, version)} is {row.get_state_display().lower()} again."


def _return_to_scoring(entry: AuditEntry, **who: Any) -> str:
    name, version = _version(entry)
    published = ScoringProfileVersion.objects.for_tenant(entry.tenant_id).named(name).filter(published_at__isnull=False)
    # what this act superseded, or a later one that made the same version active again
    before = published.filter(recorded_to__gte=entry.at).exclude(version=version).order_by("-recorded_to").first()
    if before is None:
        retire_scoring_profile(tenant_id=entry.tenant_id, name=name, version=version, **who)
        return f"Undone: no version of {name} is active again."
    number = before.version
    roll_back_scoring_profile(tenant_id=entry.tenant_id, name=name, version=number, replaces=version, **who)
    return f"Undone: {versioned_name(name, number)} is active again."


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
    return "Undone: the former assignments are restored."


#: The undo of an act that is in effect, by its verb.
UNDO: Mapping[str, Callable[..., str]] = {
    **dict.fromkeys((*STORED_ACTS, *REPEATED_ACTS), _undo_hygiene),
    **dict.fromkeys(VALUE_KINDS, _set_former_values),
    "store_memories": _archive_all,
    "create_invitation": _by_action(revoke_invitation, Invitation, "invitation", "the invitation is revoked."),
    "mark_compaction_reviewed": _by_action(withdraw_review, Compaction, "compaction", "the summary is not reviewed."),
    "withdraw_review": _by_action(mark_compaction_reviewed, Compaction, "compaction", "the summary is reviewed."),
    "archive_memory": _restore,
    **dict.fromkeys(("restore_memory", "store_memory"), _archive),
    "update_memory": _former_version,
    **dict.fromkeys(("link_memories", "unlink_memories"), _change_link),
    "create_snapshot": _by_action(delete_snapshot, Snapshot, "snapshot", "the snapshot is deleted."),
    "set_memo": _return_to_memo,
    **dict.fromkeys(("save_summary", "withdraw_summary"), _return_to_summary),
    "close_session": _by_action(restore_session, Session, "session", "the session is open again."),
    "restore_session": _by_action(close_session, Session, "session", "the session is closed again."),
    "pin_message": _by_action(pin_message, Message, "message", "the message is not pinned.", pinned=False),
    "unpin_message": _by_action(pin_message, Message, "message", "the message is pinned again.", pinned=True),
    **dict.fromkeys(
        ("collect_golden_question", "restore_golden_question"),
        _by_action(remove_golden_question, GoldenQuestion, "question", "the question is removed."),
    ),
    "remove_golden_question": _by_action(
        restore_golden_question, GoldenQuestion, "question", "the question is restored."
    ),
    **dict.fromkeys(
        ("add_alert_destination", "restore_alert_destination"),
        _by_action(remove_alert_destination, AlertDestination, "destination", "the destination is removed."),
    ),
    "remove_alert_destination": _by_action(
        restore_alert_destination, AlertDestination, "destination", "the destination is restored."
    ),
    "delete_view": _by_action(restore_view, SavedView, "view", "the view is restored."),
    "save_prompt": _return_to_prompt,
    **dict.fromkeys((*_APPLIED, "reject_compaction", "roll_back_compaction"), _review_again),
    **dict.fromkeys(("save_budget_profile", "roll_back_budget_profile"), _return_to_budget),
    "retire_budget_profile": _restore_budget,
    **dict.fromkeys(("create_budget_profile", "restore_budget_profile"), _retire_budget),
    **dict.fromkeys(("create_scoring_profile", "edit_scoring_profile", "restore_scoring_profile"), _retire_scoring),
    "retire_scoring_profile": _restore_scoring,
    **dict.fromkeys(("publish_scoring_profile", "roll_back_scoring_profile"), _return_to_scoring),
    **{f"{verb}_{kind}": _return_assignment for verb in ("assign", "unassign") for kind in _ASSIGNMENTS},
}
