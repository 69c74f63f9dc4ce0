"""The acts of operators, API keys and the system, what each changed, and whether it can be undone (ADR-0137).

An act is an entry of the audit log that an operator may want to undo. Called inside a scope.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Func, IntegerField

from compaction.models import Compaction
from context.models import BudgetProfile, BudgetProfileAssignment, ScoringProfileAssignment, ScoringProfileVersion
from memories.models import AuditEntry, Memory, StoredAct
from memories.services.tenancy.act_labels import ACT_LABELS, REPEATED_ACTS, STORED_ACTS, UNDO_DAYS
from memories.tenancy.queries.audit import AuditEntryQuerySet
from memories.tenancy.queries.tenants import users_by_username
from memory_platform.console.act_changes import EDITS, changes_of, edited_values
from memory_platform.console.act_targets import TARGETS_SHOWN_MAX, ActTarget, act_target, target_texts, targets_with
from memory_platform.console.act_values import VALUE_KINDS, are_present, present_values, stored_values
from memory_platform.console.undo_rules import FINAL, NOTES, NOTES_WITHOUT_VALUES, UNDONE_BY_ADMINS, UNDONE_WHILE_LATEST

_CHANGED = "Changed since"
#: Of acts whose former values were never stored, were deleted after a while, or were erased.
_NO_VALUES = f"{FINAL}: its former values are not stored (they are kept for {UNDO_DAYS} days)"
#: The state of a compaction in which a decision about it can be undone.
_DECIDED = {
    "apply_compaction": "applied",
    "approve_compaction": "applied",
    "reject_compaction": "rejected",
    "roll_back_compaction": "rolled_back",
}
#: Single acts on memories, which a larger act at the same time consists of.
_PARTS = ("archive_memory", "restore_memory")
#: Acts that leave a version of a memory.
_WRITTEN = ("store_memory", "update_memory")
_CREATED_BUDGETS = ("create_budget_profile", "restore_budget_profile")
#: The kinds of which a tenant has only one target.
_SINGLE = ("tenant_memo", "prompt")
#: Of acts at the same time, only those of the highest rank are shown: undoing an approval also rolls it back.
_PARTS_OF_OTHERS = (*_PARTS, *_WRITTEN, "store_memories", "link_memories", "unlink_memories")
_RANKS = {**dict.fromkeys(_PARTS_OF_OTHERS, 0), "undo_replace": 1, "roll_back_compaction": 2}
_HIGHEST_RANK = 3


@dataclass(frozen=True)
class ActRow:
    """An act; `changes` are former and new values; `undo` is a state below, "" if it cannot be undone now."""

    entry: AuditEntry
    targets: Sequence[ActTarget]
    changes: Sequence[str] = ()
    undo: str = ""
    #: Whether the values that its undo needs were stored.
    has_values: bool = True

    @property
    def label(self) -> str:
        return self.entry.label

    @property
    def note(self) -> str:
        """The text shown instead of Undo."""
        own = NOTES.get(self.entry.verb, "")
        return own or (_CHANGED if self.has_values else NOTES_WITHOUT_VALUES.get(self.entry.verb, _NO_VALUES))

    @property
    def note_url(self) -> str:
        """The URL of the page on which an operator can do what the note says, "" without one."""
        has_page = self.note != _CHANGED and not self.note.startswith(FINAL) and self.targets
        return self.targets[0].url if has_page else ""

    @property
    def more(self) -> int:
        """The number of changed rows that are not shown."""
        return max(len(self.entry.target_ids) - TARGETS_SHOWN_MAX, 0) if self.entry.target_kind == "memory" else 0


#: Acts that are undone with stored values.
_STORED = STORED_ACTS.keys() | REPEATED_ACTS.keys() | VALUE_KINDS.keys()
_IMPORTS = ("import_memories", "undo_import", "redo_import")
POSSIBLE, FOR_ADMINS, DONE = "possible", "admins", "undone"


def list_acts(
    tenant_id: UUID,
    *,
    verbs: Collection[str] = tuple(ACT_LABELS),
    by: str = "",
    operator: str = "",
    text: str = "",
    after: datetime | None = None,
    before: datetime | None = None,
) -> AuditEntryQuerySet:
    """Return the entries of these verbs without what agents do in every turn.

    By a kind of actor, an operator (a user name), the text of a target and a time, each optional.
    """
    entries: AuditEntryQuerySet = AuditEntry.objects.for_tenant(tenant_id)
    entries = entries.of_verbs(verbs).without_agent_traffic()
    entries = entries.narrowed({"actor_kind": by, "after": after, "before": before})
    if operator:
        named = users_by_username(operator).values_list("pk", flat=True)
        entries = entries.of_actors([str(pk) for pk in named]).narrowed({"actor_kind": AuditEntry.ActorKind.OPERATOR})
    return entries.about_text(text, *targets_with(tenant_id, text)) if text else entries


def read_acts(tenant_id: UUID, entries: Sequence[AuditEntry], *, is_admin: bool) -> list[ActRow]:
    """Return the rows of these entries, without parts of larger acts. The kinds of targets decide how many queries."""
    shown = _largest(entries)
    acts = _stored_acts(tenant_id, [row for row in shown if row.verb in _STORED or row.verb in EDITS])
    memories = _memories(tenant_id, shown)
    texts = {("memory", pk): row.content for pk, row in memories.items()} | target_texts(tenant_id, shown)
    edited = edited_values(tenant_id, [row for row in shown if row.verb == "update_memory"])
    states = _undo_states(tenant_id, shown, acts, memories)
    return [
        ActRow(
            entry,
            targets=[
                act_target(tenant_id, entry, place, texts, is_admin)
                for place, _ in enumerate(entry.target_ids[:TARGETS_SHOWN_MAX])
            ],
            changes=changes_of(entry, acts.get(entry.pk), edited),
            undo=_shown_state(entry, states.get(entry.pk, ""), is_admin),
            has_values=entry.pk in acts or entry.verb not in _STORED,
        )
        for entry in shown
    ]


def _stored_acts(tenant_id: UUID, entries: Iterable[AuditEntry]) -> dict[UUID, StoredAct]:
    """Return the stored acts by id; of imports, only how many memories, because one can be of 10,000."""
    ids: dict[bool, list[UUID]] = {True: [], False: []}
    for entry in entries:
        ids[entry.verb in _IMPORTS].append(entry.pk)
    acts = StoredAct.objects.for_tenant(tenant_id)
    length = Func(F("changed"), function="jsonb_array_length", output_field=IntegerField())
    imports = acts.defer("changed", "archived_ids").annotate(changed_count=length)
    return {**acts.in_bulk(ids[False]), **imports.in_bulk(ids[True])}


def _shown_state(entry: AuditEntry, state: str, is_admin: bool) -> str:
    return FOR_ADMINS if state == POSSIBLE and entry.verb in UNDONE_BY_ADMINS and not is_admin else state


def _largest(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    ranks = [(entry, (entry.at, entry.actor_id), _RANKS.get(entry.verb, _HIGHEST_RANK)) for entry in entries]
    highest: dict[Any, int] = {}
    for _, act, rank in ranks:
        highest[act] = max(rank, highest.get(act, 0))
    return [entry for entry, act, rank in ranks if rank == highest[act]]


def is_archived_by(entry: AuditEntry, memory: Memory) -> bool:
    """Whether the memory has been archived since this act, without being restored and archived again."""
    return memory.archived_at == max(entry.at, memory.valid_from, memory.recorded_from)


def _memories(tenant_id: UUID, entries: Sequence[AuditEntry]) -> dict[str, Memory]:
    """Return the memories that the entries show, without most columns. One query."""
    ids = {pk for entry in entries if entry.target_kind == "memory" for pk in entry.target_ids[:TARGETS_SHOWN_MAX]}
    rows = (
        Memory.objects.for_tenant(tenant_id).with_ids(ids).only("content", "archived_at", "valid_from", "recorded_from")
    )
    return {str(row.pk): row for row in rows} if ids else {}


def _undo_states(
    tenant_id: UUID, entries: Sequence[AuditEntry], acts: Mapping[UUID, StoredAct], memories: Mapping[str, Memory]
) -> dict[UUID, str]:
    undone = {pk for pk, act in acts.items() if act.undone_at}
    of_memories = [pk for pk, act in acts.items() if act.act != StoredAct.Act.CHANGE]
    states = dict.fromkeys(of_memories, POSSIBLE) | dict.fromkeys(undone, DONE)
    states |= _value_states(tenant_id, entries, acts)
    for entry in entries:
        if entry.verb in _PARTS and (row := memories.get(entry.target_ids[0])):
            is_as_left = is_archived_by(entry, row) if entry.verb == "archive_memory" else row.archived_at is None
            states[entry.pk] = POSSIBLE if is_as_left else DONE
        elif entry.verb in (*_WRITTEN, "store_memories") and (row := memories.get(entry.target_ids[0])):
            is_as_written = row.archived_at is None and row.recorded_from <= entry.at
            states[entry.pk] = POSSIBLE if is_as_written else ""
    possible = {
        *_compactions(tenant_id, [entry for entry in entries if entry.verb in _DECIDED]),
        *_profiles(tenant_id, [entry for entry in entries if entry.target_kind.endswith("_profile")]),
        *latest_acts(tenant_id, [entry for entry in entries if entry.verb in UNDONE_WHILE_LATEST]),
    }
    return states | dict.fromkeys(possible, POSSIBLE)


def _value_states(tenant_id: UUID, entries: Sequence[AuditEntry], acts: Mapping[UUID, StoredAct]) -> dict[UUID, str]:
    """Return the states of acts that changed values: possible while the values are present. A query for each kind."""
    after = {
        entry: stored_values(acts[entry.pk].changed).after
        for entry in entries
        if entry.verb in VALUE_KINDS and entry.pk in acts and acts[entry.pk].undone_at is None
    }
    targets: dict[str, set[str]] = {}
    for entry, values in after.items():
        targets.setdefault(entry.verb, set()).update(values)
    present = {verb: present_values(verb, tenant_id, ids) for verb, ids in targets.items()}
    return {entry.pk: POSSIBLE if are_present(values, present[entry.verb]) else "" for entry, values in after.items()}


def _decided_at(entry: AuditEntry) -> datetime | None:
    """Return when an operator decided: never for a compaction that the policy applied."""
    return None if entry.verb == "apply_compaction" else entry.at


def _compactions(tenant_id: UUID, entries: Sequence[AuditEntry]) -> Iterator[UUID]:
    """Yield the last decision about each compaction, if it is still in effect."""
    rows = Compaction.objects.for_tenant(tenant_id).without_details()
    compactions = {str(row.pk): row for row in rows.with_ids(entry.target_ids[0] for entry in entries)}
    latest = rows.latest_applied_ids({row.session_id for row in compactions.values()}) if compactions else set()
    for entry in entries:
        row = compactions.get(entry.target_ids[0])
        is_current = row is not None and row.decided_at == _decided_at(entry) and row.state == _DECIDED[entry.verb]
        if row is not None and is_current and (row.state != "applied" or row.pk in latest):
            yield entry.pk


def latest_acts(tenant_id: UUID, entries: Sequence[AuditEntry]) -> set[UUID]:
    """Return the ids of those entries that no other act on the same target followed. Up to two queries."""
    current = {entry.pk for entry in entries}
    memos = [entry for entry in entries if entry.target_kind in _SINGLE]  # every version has its own id
    others = [entry for entry in entries if entry.target_kind not in _SINGLE]
    rows = AuditEntry.objects.for_tenant(tenant_id).of_verbs(ACT_LABELS)
    latest: set[UUID] = set()
    if others:
        ids = {entry.target_ids[0] for entry in others}
        latest |= rows.latest_about({entry.target_kind for entry in others}, ids)
    if memos:
        latest |= rows.latest_of_kinds({entry.target_kind for entry in memos})
    return current & latest


def _profiles(tenant_id: UUID, entries: Sequence[AuditEntry]) -> Iterator[UUID]:
    """Yield the acts on profiles and assignments whose result is in use."""
    by_kind = {
        "budget_profile": (BudgetProfile.objects.for_tenant(tenant_id).active(), BudgetProfileAssignment),
        "scoring_profile": (ScoringProfileVersion.objects.for_tenant(tenant_id).active(), ScoringProfileAssignment),
    }
    for kind, (versions, assignment) in by_kind.items():
        own = [entry for entry in entries if entry.target_kind == kind]
        if not own:
            continue
        active = {f"{name} {version}" for name, version in versions.values_list("name", "version")}
        assigned = assignment.objects.for_tenant(tenant_id).active()
        holders = {
            (key_id or path or "tenant"): name
            for key_id, path, name in assigned.values_list("api_key_id", "partition_path", "profile_name")
        }
        for entry in own:
            if _is_in_use(entry, active, holders):
                yield entry.pk


def _is_in_use(entry: AuditEntry, active: Collection[str], holders: Mapping[str, str]) -> bool:
    if entry.verb.startswith("assign_"):
        return holders.get(entry.target_ids[1]) == entry.target_ids[0]
    if entry.verb.startswith("unassign_"):
        return entry.target_ids[1] not in holders
    name, _, version = entry.target_ids[-1].rpartition(" ")
    if entry.verb == "retire_budget_profile" or entry.verb in _CREATED_BUDGETS:
        is_used = name in {each.rpartition(" ")[0] for each in active}
        return is_used == (entry.verb in _CREATED_BUDGETS)
    is_reversible = entry.verb.startswith(("save_", "roll_back_", "publish_"))
    return is_reversible and entry.target_ids[-1] in active and version != "0"
