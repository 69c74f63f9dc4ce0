"""Hygiene actions of operators: merge, archive, dismiss, and undo (ADR-0083)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.dateparse import parse_datetime

from memories.hygiene.findings import HygieneActionEffect
from memories.models import AuditEntry, Memory, MemoryFinding, MemoryLink, MemoryPair, StoredAct
from memories.partitions.actions import link_memories, unlink_memories
from memories.services.hygiene.rules import combine_memories
from memories.services.store import bulk
from memories.services.store.drafts import SUPERSEDES
from memories.store.actions.bulk import BulkActionResult
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.actions.replace import replace_memories
from memories.store.bulk_rows import (
    archive_rows,
    lock_seen_rows,
    move_rows_back,
    open_next_versions,
    restore_rows,
    undo_values,
)
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound
from memories.tenancy.required_rows import find_row

#: Acts whose redo performs the act itself: a merge and a replacement also create links, a dismissal marks findings.
_PERFORMED_AGAIN = (StoredAct.Act.MERGE, StoredAct.Act.REPLACE, StoredAct.Act.DISMISS)
#: The kind of the link from a merged memory to the kept one.
MERGED_INTO = "merged_into"


@dataclass(frozen=True)
class HygieneUndoResult:
    """The result of an undo: how many memories or findings were restored, and how many were left unchanged."""

    act: StoredAct
    count: int
    left: int

    def __str__(self) -> str:
        if self.act.act == StoredAct.Act.DISMISS:
            return bulk.describe_undone(self.count, self.left, one="finding", several="findings")
        return bulk.describe_undone(self.count, self.left)


@transaction.atomic
def merge_memories(*, tenant_id: UUID, groups: Mapping[UUID, Collection[UUID]], by: Actor, now: datetime) -> StoredAct:
    """Keep one memory of each group (kept -> others); archive the others and link them to it as `merged_into`.

    The kept one keeps its text and takes over pin, links and combined counters. Raises `NotFound`, `Conflict`
    (`archived`) or `InvalidInput` without changing anything.
    """
    others = [pk for members in groups.values() for pk in members]
    if not others or len({*others, *groups}) < len(others) + len(groups):
        raise InvalidInput("overlapping_merges", "Each memory may occur only once, as kept or as merged.", "others")
    memories = _locked_unarchived(tenant_id, [*groups, *others])
    act = StoredAct(tenant_id=tenant_id, act=StoredAct.Act.MERGE, at=now, archived_ids=others)
    for kept_id, members in groups.items():
        kept, merged = memories[kept_id], [memories[pk] for pk in members]
        act.kept.append(_transfer_values(kept, merged, by, now))
        act.link_ids += _link(kept, merged, by, now)
    for memory_id in others:
        archive_memory(memory=memories[memory_id], by=by, now=now)
    act.changed = undo_values([memories[pk] for pk in others], "archived_at", after=now)
    act.save()
    _audit(act, "merge_memories", [*groups, *others], by, now)
    return act


@transaction.atomic
def merge_seen_memories(
    *, tenant_id: UUID, keep: UUID | None, seen: Mapping[UUID, int], by: Actor, now: datetime
) -> BulkActionResult:
    """Merge memories into `keep`. Raises `InvalidInput`, or `Conflict` `changed` if a version differs from `seen`."""
    if not bulk.MERGED_MIN <= len(seen) <= bulk.MERGED_MAX:
        raise InvalidInput("out_of_range", f"A merge takes {bulk.MERGED_MIN} to {bulk.MERGED_MAX} memories.", "id")
    if keep is None or keep not in seen:
        raise InvalidInput("invalid_choice", "Select the memory to keep.", "keep")
    rows, left = lock_seen_rows(tenant_id, bulk.BULK_ACTIONS[bulk.BULK_MERGE], seen, "")
    if left:
        raise Conflict("changed", f"Nothing was merged: {bulk.describe_skipped(left)}. Reload the list.")
    others = [row.pk for row in rows if row.pk != keep]
    done = merge_memories(tenant_id=tenant_id, groups={keep: others}, by=by, now=now)
    return BulkActionResult(done, len(rows), {})


@transaction.atomic
def perform_hygiene_action(
    *, tenant_id: UUID, effect: HygieneActionEffect, has_pairs: bool, by: Actor, now: datetime
) -> StoredAct | None:
    """Merge, archive, restore or dismiss what `effect` describes; None for restore. Raises as these actions do."""
    who: dict[str, Any] = {"tenant_id": tenant_id, "by": by, "now": now}
    if effect.action == bulk.BULK_MERGE:
        groups = {group.kept.pk: [memory.pk for memory in group.others] for group in effect.groups}
        return merge_memories(groups=groups, **who)
    if effect.action == bulk.BULK_ARCHIVE:
        return archive_memories(memory_ids=[memory.pk for memory in effect.memories], **who)
    if effect.action == bulk.RESTORE:
        undo_replacements(pair_ids=effect.ids, **who)
        return None
    pair_ids, finding_ids = (effect.ids, ()) if has_pairs else ((), effect.ids)
    return dismiss_findings(pair_ids=pair_ids, finding_ids=finding_ids, **who)


@transaction.atomic
def archive_memories(*, tenant_id: UUID, memory_ids: Collection[UUID], by: Actor, now: datetime) -> StoredAct:
    """Archive memories in one action. Raises `NotFound` or `Conflict` (`archived`) without changing anything."""
    memories = _locked_unarchived(tenant_id, memory_ids)
    rows = list(memories.values())
    act = StoredAct(tenant_id=tenant_id, act=StoredAct.Act.ARCHIVE, at=now, archived_ids=list(memories))
    act.changed = undo_values(rows, "archived_at", after=now)
    archive_rows(rows, now)
    act.save()
    _audit(act, "archive_memories", memories, by, now)
    return act


@transaction.atomic
def dismiss_findings(
    *, tenant_id: UUID, pair_ids: Collection[int] = (), finding_ids: Collection[int] = (), by: Actor, now: datetime
) -> StoredAct:
    """Mark findings as no problem, a pair until a text changes. Raises `NotFound` if no open one is left."""
    pairs = list(MemoryPair.objects.for_tenant(tenant_id).open().with_ids(pair_ids).locked())
    findings = list(MemoryFinding.objects.for_tenant(tenant_id).open().with_ids(finding_ids).locked())
    if not pairs and not findings:
        raise NotFound("not_found", "These findings no longer exist.")
    act = StoredAct(tenant_id=tenant_id, act=StoredAct.Act.DISMISS, at=now)
    act.pair_ids, act.finding_ids = [row.pk for row in pairs], [row.pk for row in findings]
    act.save()
    _mark(act, now)
    about = {pk for row in pairs for pk in (row.older_id, row.newer_id)} | {row.memory_id for row in findings}
    _audit(act, "dismiss_findings", sorted(about), by, now)
    return act


@transaction.atomic
def undo_hygiene(
    *, tenant_id: UUID, act_id: UUID, is_redo: bool = False, by: Actor, now: datetime
) -> HygieneUndoResult:
    """Undo an action: restore archived memories, end its links, restore counters and values.

    A memory that was changed, archived or restored since is skipped; retrievals and votes since then are kept. The undo
    is itself an act, with the data that its own undo needs; `is_redo` names that one in the log. Raises `NotFound`, or
    `Conflict` without changing anything: `already_undone`, `duplicate` or `source_taken` if the same text or
    `source_id` was stored since, `live_summary` if another summary of a session is live, `changed` if every memory
    would be skipped, `is_undo` for an undo that only `redo_hygiene` undoes.
    """
    act = _not_undone(tenant_id, act_id)
    entries = AuditEntry.objects.for_tenant(tenant_id).with_id(act.pk).of_verbs([f"undo_{act.act}"])
    if act.act in _PERFORMED_AGAIN and entries.exists():
        raise Conflict("is_undo", "This action is itself an undo. It can be undone on the Activity page.")
    ids = {*act.archived_ids, *(UUID(row["id"]) for row in (*act.kept, *act.changed))}
    memories = _locked(tenant_id, ids)
    for link in MemoryLink.objects.for_tenant(tenant_id).current().with_ids(act.link_ids).in_order():
        unlink_memories(link=link, by=by, now=now)
    undo = StoredAct(tenant_id=tenant_id, act=act.act, at=now, link_ids=act.link_ids, finding_ids=act.finding_ids)
    if act.act == StoredAct.Act.DISMISS:  # the pairs of a replacement refer to the act that lists them
        undo.pair_ids = act.pair_ids
    count = _change_back(act, memories, undo, by, now)
    for transferred in act.kept:
        if UUID(transferred["id"]) in memories:
            count += _restore_values(memories[UUID(transferred["id"])], transferred, by, now)
    if act.act == StoredAct.Act.REPLACE:
        _mark(act, now)
        left = len(ids) + len(act.finding_ids) - count
    else:
        count += _mark(act, None)
        left = len(ids) + len(act.pair_ids) + len(act.finding_ids) - count
    if not count:
        raise Conflict("changed", f"{bulk.describe_not_undone(left)}.")
    act.undone_at = now
    act.save(update_fields=["undone_at"])
    undo.save()
    _audit(undo, f"{'redo' if is_redo else 'undo'}_{act.act}", sorted(ids), by, now)
    return HygieneUndoResult(act, count, left)


@transaction.atomic
def redo_hygiene(*, tenant_id: UUID, act_id: UUID, by: Actor, now: datetime) -> str:
    """Perform again what the undo `act_id` undid, and describe the result. Raises as `undo_hygiene` and the act do."""
    undo = _not_undone(tenant_id, act_id)
    who: dict[str, Any] = {"tenant_id": tenant_id, "by": by, "now": now}
    if undo.act not in _PERFORMED_AGAIN:
        return str(undo_hygiene(act_id=act_id, is_redo=True, **who))
    undo.undone_at = now
    undo.save(update_fields=["undone_at"])
    if undo.act == StoredAct.Act.DISMISS:
        dismiss_findings(pair_ids=undo.pair_ids, finding_ids=undo.finding_ids, **who)
        return "Undone: the findings are dismissed again."
    kind = MERGED_INTO if undo.act == StoredAct.Act.MERGE else SUPERSEDES
    groups: dict[UUID, list[UUID]] = defaultdict(list)
    for link in MemoryLink.objects.for_tenant(tenant_id).with_ids(undo.link_ids).of_kind(kind):
        kept, gone = (link.target_id, link.source_id) if kind == MERGED_INTO else (link.source_id, link.target_id)
        groups[kept].append(gone)
    if kind == MERGED_INTO:
        merge_memories(groups=groups, **who)
        return "Undone: the memories are merged again."
    if not replace_memories(replaced=groups, **who):
        raise NotFound("not_found", "The memories no longer exist.")
    return "Undone: the memory is replaced again."


def _not_undone(tenant_id: UUID, act_id: UUID) -> StoredAct:
    """Lock and return an action on memories. Raises `NotFound`, or `Conflict` `already_undone`."""
    acts = StoredAct.objects.for_tenant(tenant_id).on_memories()
    act = find_row(acts.with_id(act_id).select_for_update(), StoredAct, "action")
    if act.undone_at is not None:
        raise Conflict("already_undone", "This action was already undone.")
    return act


@transaction.atomic
def undo_replacements(*, tenant_id: UUID, pair_ids: Collection[int], by: Actor, now: datetime) -> None:
    """Undo the replacements that listed these pairs, all or none. Raises as `undo_hygiene` does."""
    acts = StoredAct.objects.for_tenant(tenant_id).filter(act=StoredAct.Act.REPLACE, undone_at__isnull=True)
    for act_id in acts.filter(pair_ids__overlap=list(pair_ids)).order_by("pk").values_list("pk", flat=True):
        undo_hygiene(tenant_id=tenant_id, act_id=act_id, by=by, now=now)


def _change_back(act: StoredAct, memories: Mapping[UUID, Memory], undo: StoredAct, by: Actor, now: datetime) -> int:
    """Give memories that are still in the action's version and state their former value; return how many.

    Store in `undo` what its own undo needs.
    """
    former: dict[tuple[str, Any], list[Memory]] = defaultdict(list)
    changed: list[tuple[Memory, dict[str, Any]]] = []
    archived = set(act.archived_ids)
    for row in act.changed:
        memory = memories.get(UUID(row["id"]))
        if memory is None or memory.version != row["version"]:
            continue
        was_archived = memory.pk in archived
        is_as_left = was_archived or getattr(memory, row["field"]) == row["after"]
        if is_as_left and was_archived == (memory.archived_at is not None):
            former[row["field"], row["before"]].append(memory)
            changed.append((memory, row))
    for (field, value), rows in former.items():
        if field == bulk.MOVE.field:
            move_rows_back(rows, value, by=by, now=now)
        elif field != "archived_at":
            open_next_versions(rows, now, {field: value})
        elif value is None:
            restore_rows(rows, by=by, now=now)
        else:
            archive_rows(rows, now)
    undo.archived_ids = [memory.pk for memory, _ in changed if memory.archived_at is not None]
    undo.changed = [
        row | {"before": row["after"], "after": row["before"], "version": memory.version} for memory, row in changed
    ]
    return len(changed)


def _locked(tenant_id: UUID, memory_ids: Iterable[UUID]) -> dict[UUID, Memory]:
    return {row.pk: row for row in Memory.objects.for_tenant(tenant_id).with_ids(memory_ids).locked()}


def _locked_unarchived(tenant_id: UUID, memory_ids: Collection[UUID]) -> dict[UUID, Memory]:
    if not memory_ids or len(memory_ids) > bulk.BULK_MEMORIES_MAX:
        raise InvalidInput("out_of_range", f"An action applies to 1 to {bulk.BULK_MEMORIES_MAX:,} memories.", "id")
    memories = _locked(tenant_id, memory_ids)
    if missing := set(memory_ids) - memories.keys():
        raise NotFound("not_found", f"There is no memory {min(missing)}.", "id")
    if archived := sorted(str(pk) for pk, row in memories.items() if row.archived_at is not None):
        raise Conflict("archived", f"The memory {archived[0]} is archived now. Reload the list.", "id")
    return memories


def _transfer_values(kept: Memory, merged: Sequence[Memory], by: Actor, now: datetime) -> dict[str, Any]:
    """Transfer the pin and counters of all to the kept memory; return the former and new values."""
    usefulness, retrievals, is_pinned, last = combine_memories([kept, *merged])
    transferred = {
        "id": str(kept.pk),
        "version": kept.version,
        "was_pinned": kept.pinned,
        "usefulness_before": kept.usefulness_score,
        "usefulness": usefulness,
        "retrievals_added": retrievals - kept.retrieval_count,
        "last_retrieved_before": kept.last_retrieved_at and kept.last_retrieved_at.isoformat(),
        "last_retrieved": last and last.isoformat(),
    }
    _count(kept, usefulness, retrievals, last)
    if is_pinned and not kept.pinned:
        transferred["version"] = update_memory(memory=kept, changes={"pinned": True}, by=by, now=now).version
    return transferred


def _restore_values(kept: Memory, transferred: Mapping[str, Any], by: Actor, now: datetime) -> int:
    """Return 1 if all values were restored, 0 if the memory was changed since and stays pinned."""
    usefulness, last = kept.usefulness_score, kept.last_retrieved_at
    if usefulness == transferred["usefulness"]:
        usefulness = transferred["usefulness_before"]
    if (last and last.isoformat()) == transferred["last_retrieved"]:
        last = parse_datetime(transferred["last_retrieved_before"] or "")
    _count(kept, usefulness, max(kept.retrieval_count - transferred["retrievals_added"], 0), last)
    if not kept.pinned or transferred["was_pinned"]:
        return 1
    if kept.archived_at is not None or kept.version != transferred["version"]:
        return 0
    update_memory(memory=kept, changes={"pinned": False}, by=by, now=now)
    return 1


def _count(kept: Memory, usefulness: float, retrievals: int, last: datetime | None) -> None:
    Memory.objects.filter(pk=kept.pk).update(
        usefulness_score=usefulness, retrieval_count=retrievals, last_retrieved_at=last
    )


def _link(kept: Memory, merged: Sequence[Memory], by: Actor, now: datetime) -> list[int]:
    """Create `merged_into` links and copy the merged memories' links to the kept one; return the ids."""
    edges = MemoryLink.objects.for_tenant(kept.tenant_id).current()
    own = {(link.source_id, link.target_id, link.kind) for link in edges.touching(kept.pk)}
    edges_of_kept = [(row.pk, kept.pk, MERGED_INTO) for row in merged]
    gone = {row.pk for row in merged}
    for link in edges.touching(*gone).order_by("pk"):
        source, target = (kept.pk if pk in gone else pk for pk in (link.source_id, link.target_id))
        edges_of_kept += [(source, target, link.kind)] if source != target else []
    new = [edge for edge in dict.fromkeys(edges_of_kept) if edge not in own]
    ends = Memory.objects.for_tenant(kept.tenant_id).in_bulk([pk for edge in new for pk in edge[:2]])
    drawn = (link_memories(source=ends[one], target=ends[other], kind=kind, by=by, now=now) for one, other, kind in new)
    return [link.pk for link in drawn]


def _mark(act: StoredAct, at: datetime | None) -> int:
    """Mark the action's findings as dismissed, or as open for None; return how many there are.

    The undo of a dismissal opens them, that of a replacement dismisses the pair that it made.
    """
    found = ((MemoryPair.objects, act.pair_ids), (MemoryFinding.objects, act.finding_ids))
    return sum(rows.for_tenant(act.tenant_id).with_ids(ids).update(dismissed_at=at) for rows, ids in found if ids)


def _audit(act: StoredAct, verb: str, memory_ids: Iterable[object], by: Actor, now: datetime) -> None:
    who: dict[str, Any] = {"tenant_id": act.tenant_id, "by": by, "now": now}
    record_audit(verb, "memory", memory_ids, fields=["hygiene"], act_id=act.pk, **who)
