"""The acts of people, rules and agents in a tenant, what each changed, and whether it can be undone (ADR-0137).

An act is an entry of the audit log that an operator may want to undo. Called inside a scope.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils.http import urlencode

from compaction.models import AlertDestination, Compaction, Message, Session
from context.models import (
    BudgetProfile,
    BudgetProfileAssignment,
    EvaluationRun,
    GoldenQuestion,
    ScoringProfileAssignment,
    ScoringProfileVersion,
)
from memories.models import (
    ApiKey,
    AuditEntry,
    EmbeddingModel,
    HygieneAct,
    Invitation,
    Memory,
    Partition,
    PartitionSummary,
    SavedView,
    Snapshot,
)
from memories.services.tenancy.act_labels import ACT_LABELS, REPEATED_ACTS, STORED_ACTS, VERBS
from memories.services.tenancy.audit_targets import audit_target_page, displayed_target_id
from memories.tenancy.queries.audit import AuditEntryQuerySet
from memory_platform.console.act_kinds import FINAL, NOTES, UNDONE_BY_ADMINS, UNDONE_WHILE_LATEST
from memory_platform.console.act_values import VALUE_KINDS, are_present, present_values, stored_values

#: Targets of an act that are shown.
TARGETS_SHOWN_MAX = 3
_EXCERPT_CHARACTERS = 90
#: Characters of a former or new value.
_VALUE_CHARACTERS = 60
#: What the label says, or what follows from the text.
_UNSHOWN = ("archived_at", "member", "statements", "candidates", "receipt_id")
_FIELD_NAMES = {"created": "days after creation", "archived": "days after archiving", "is_enabled": "on"}
#: Characters of the id of a target without a name.
_ID_CHARACTERS = 8
#: The state of a compaction in which a decision about it can be undone.
_NO_VALUES = "The former values were not stored"
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
#: Acts that change a choice of fields.
_EDITS = frozenset(
    {
        *("update_memory", "update_session", "change_golden_question", "edit_scoring_profile"),
        *("save_budget_profile", "roll_back_budget_profile"),
    }
)
_CREATED_BUDGETS = ("create_budget_profile", "restore_budget_profile")
#: Kinds of which a tenant has one target.
_SINGLE = ("tenant_memo", "prompt")
#: Of acts at the same time, only those of the highest rank are shown: undoing an approval also rolls it back.
_PARTS_OF_OTHERS = (*_PARTS, *_WRITTEN, "store_memories", "link_memories", "unlink_memories", "undo_replace")
_RANKS = {**dict.fromkeys(_PARTS_OF_OTHERS, 0), "roll_back_compaction": 1}
_HIGHEST_RANK = 2


@dataclass(frozen=True)
class ActTarget:
    """A row that an act changed, by its text or name; `url` is "" without a page for this operator."""

    text: str
    url: str


@dataclass(frozen=True)
class ActRow:
    """An act; `changes` are former and new values; `undo` is a state below, "" if it cannot be undone now."""

    entry: AuditEntry
    targets: Sequence[ActTarget]
    changes: Sequence[str] = ()
    undo: str = ""
    #: Whether the values were stored that its undo needs.
    has_values: bool = True

    @property
    def label(self) -> str:
        return self.entry.label

    @property
    def note(self) -> str:
        """What is shown instead of Undo."""
        return NOTES.get(self.entry.verb, "Changed since" if self.has_values else _NO_VALUES)

    @property
    def note_url(self) -> str:
        """The page on which a person can do what the note says, "" without one."""
        has_page = self.entry.verb in NOTES and not self.note.startswith(FINAL) and self.targets
        return self.targets[0].url if has_page else ""

    @property
    def more(self) -> int:
        """How many changed rows are not shown."""
        return max(len(self.entry.target_ids) - TARGETS_SHOWN_MAX, 0) if self.entry.target_kind == "memory" else 0


#: Acts that are undone with what was stored for that.
_STORED = STORED_ACTS.keys() | REPEATED_ACTS.keys() | VALUE_KINDS.keys()
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TITLED = ("compaction", "partition_summary", "session")
#: The model and the column of the names of other targets.
_NAMED: Mapping[str, tuple[Any, str]] = {
    "alert_destination": (AlertDestination, "address"),
    "api_key": (ApiKey, "name"),
    "embedding_model": (EmbeddingModel, "name"),
    "evaluation": (EvaluationRun, "corpus_name"),
    "golden_question": (GoldenQuestion, "text"),
    "invitation": (Invitation, "note"),
    "partition": (Partition, "path"),
    "message": (Message, "content"),
    "saved_view": (SavedView, "name"),
    "snapshot": (Snapshot, "name"),
}
POSSIBLE, FOR_ADMINS, DONE = "possible", "admins", "undone"


def list_acts(tenant_id: UUID, *, group: str, by: str) -> AuditEntryQuerySet:
    """Return the entries of a group and by a kind of actor, "" for all, without what agents do in every turn."""
    entries: AuditEntryQuerySet = AuditEntry.objects.for_tenant(tenant_id)
    return entries.of_verbs(VERBS.get(group, ACT_LABELS)).without_agent_traffic().narrowed({"actor_kind": by})


def read_acts(tenant_id: UUID, entries: Sequence[AuditEntry], *, is_admin: bool) -> list[ActRow]:
    """Return the rows of these entries, without parts of larger acts. The kinds of targets decide how many queries."""
    shown = _largest(entries)
    stored = [row.pk for row in shown if row.verb in _STORED]
    acts = HygieneAct.objects.for_tenant(tenant_id).in_bulk(stored)
    memories = _memories(tenant_id, shown)
    texts = {pk: row.content for pk, row in memories.items()} | _titles(tenant_id, shown)
    states = _undo_states(tenant_id, shown, acts, memories)
    return [
        ActRow(
            entry,
            targets=[_target(tenant_id, entry, place, texts, is_admin) for place in range(_shown_targets(entry))],
            changes=list(_changes(acts[entry.pk])) if entry.pk in acts else _changed_fields(entry),
            undo=_shown_state(entry, states.get(entry.pk, ""), is_admin),
            has_values=entry.pk in acts or entry.verb not in _STORED,
        )
        for entry in shown
    ]


def _shown_state(entry: AuditEntry, state: str, is_admin: bool) -> str:
    return FOR_ADMINS if state == POSSIBLE and entry.verb in UNDONE_BY_ADMINS and not is_admin else state


def _largest(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    ranks = [(entry, (entry.at, entry.actor_id), _RANKS.get(entry.verb, _HIGHEST_RANK)) for entry in entries]
    highest: dict[Any, int] = {}
    for _, act, rank in ranks:
        highest[act] = max(rank, highest.get(act, 0))
    return [entry for entry, act, rank in ranks if rank == highest[act]]


def _shown_targets(entry: AuditEntry) -> int:
    return min(len(entry.target_ids), TARGETS_SHOWN_MAX)


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


def _titles(tenant_id: UUID, entries: Sequence[AuditEntry]) -> dict[str, str]:
    """Return the titles of the sessions of compactions, and the partitions of summaries, by id."""
    ids = {kind: {pk for row in entries if row.target_kind == kind for pk in row.target_ids} for kind in _TITLED}
    compactions = Compaction.objects.for_tenant(tenant_id).with_ids(ids["compaction"]).with_titled_sessions()
    summaries = PartitionSummary.objects.for_tenant(tenant_id).filter(summary_id__in=ids["partition_summary"])
    paths = summaries.values_list("summary_id", "partition__path", "style").distinct()
    titles = {str(row.pk): row.session.title for row in compactions.without_details()} if ids["compaction"] else {}
    named = {str(pk): f"{path or '(root)'}, {style}" for pk, path, style in paths} if ids["partition_summary"] else {}
    sessions = Session.objects.for_tenant(tenant_id).with_ids(ids["session"]).with_titles() if ids["session"] else []
    return titles | named | {str(row.pk): row.title for row in sessions} | _names(tenant_id, entries)


def _names(tenant_id: UUID, entries: Sequence[AuditEntry]) -> dict[str, str]:
    """Return the names of targets of `_NAMED` and of users by id. One query for each kind."""
    ids: dict[str, set[str]] = {}
    for entry in entries:
        ids.setdefault(entry.target_kind, set()).update(entry.target_ids[:TARGETS_SHOWN_MAX])
    names: dict[str, str] = {}
    for kind in ids.keys() & _NAMED.keys():
        model, column = _NAMED[kind]
        # a roll-up names its partition by the path, which needs no other name
        row_ids = {pk for pk in ids[kind] if kind != "partition" or pk.isdecimal()}
        rows = model.objects.for_tenant(tenant_id).filter(pk__in=row_ids)
        names |= {str(pk): name for pk, name in rows.values_list("pk", column) if name}
    if user_ids := ids.get("user"):
        users = get_user_model().objects.filter(pk__in=user_ids)
        names |= {str(pk): name for pk, name in users.values_list("pk", "username")}
    return names


def _target(tenant_id: UUID, entry: AuditEntry, place: int, texts: Mapping[str, str], is_admin: bool) -> ActTarget:
    target_id = entry.target_ids[place]
    text = texts.get(target_id) or _unnamed(entry.target_kind, target_id)
    page = audit_target_page(entry.verb, entry.target_kind, target_id, is_first=not place)
    url = ""
    if page is not None and (is_admin or not page.admins_only):
        url = reverse(page.name, args=[tenant_id, *page.args])
        url = f"{url}?{urlencode(page.query)}" if page.query else url
    return ActTarget(text if len(text) <= _EXCERPT_CHARACTERS else f"{text[: _EXCERPT_CHARACTERS - 1]}…", url)


def _unnamed(kind: str, target_id: str) -> str:
    """Return what a target without a name is called."""
    title = kind.replace("_", " ").capitalize()
    match kind:
        case "tenant" | "tenant_memo":  # there is one
            return title
        case "message":  # of an assistant that only calls tools
            return "Message without text"
        case "prompt":
            return f"Version {target_id}"
        case "alert_rule":
            return target_id.replace("_", " ").capitalize()
    return f"{title} {target_id[:_ID_CHARACTERS]}" if _UUID.fullmatch(target_id) else displayed_target_id(target_id)


def _changed_fields(entry: AuditEntry) -> list[str]:
    """Return the names of the fields that an edit changed, and the details; of other acts, the label says enough."""
    values = [f"{name}: {value}" for name, value in sorted(entry.details.items())]
    return [text.replace("_", " ") for text in (*(entry.fields if entry.verb in _EDITS else ()), *values)]


def _changes(act: HygieneAct) -> Iterator[str]:
    """Yield the former and the new values of an act, with the number of memories of each."""
    if act.act == HygieneAct.Act.MERGE:
        yield f"{len(act.archived_ids):,} merged into {len(act.kept):,}"
    if act.act == HygieneAct.Act.IMPORT:
        yield f"{len(act.changed):,} created"
    values = Counter(
        (row["field"], _value(row["field"], row["before"]), _value(row["field"], row["after"]))
        for row in act.changed
        if row["field"] not in _UNSHOWN
    )
    for (field, before, after), count in values.most_common(TARGETS_SHOWN_MAX):
        name = _FIELD_NAMES.get(field) or field.removesuffix("_path").replace("_", " ")
        yield f"{name}: {before} → {after}" + (f" ({count:,})" if count > 1 else "")


def _value(field: str, value: Any) -> str:
    """Return a value in a few words: of a list, how many it has."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"{len(value):,}"
    text = "none" if value is None else str(value) or ("(root)" if field == "partition_path" else "(empty)")
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[: _VALUE_CHARACTERS - 1]}…"


def _undo_states(
    tenant_id: UUID, entries: Sequence[AuditEntry], acts: Mapping[UUID, HygieneAct], memories: Mapping[str, Memory]
) -> dict[UUID, str]:
    states = {pk: DONE if act.undone_at else POSSIBLE for pk, act in acts.items()}
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


def _value_states(tenant_id: UUID, entries: Sequence[AuditEntry], acts: Mapping[UUID, HygieneAct]) -> dict[UUID, str]:
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
    """Return when a person decided: never for a compaction that the policy applied."""
    return None if entry.verb == "apply_compaction" else entry.at


def _compactions(tenant_id: UUID, entries: Sequence[AuditEntry]) -> Iterator[UUID]:
    """Yield the last decision about each compaction, if it still holds."""
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
    memos = [entry for entry in entries if entry.target_kind in _SINGLE]  # every version has an id of its own
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
