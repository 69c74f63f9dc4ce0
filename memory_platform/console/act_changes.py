"""Short texts about what acts changed: former and new values. Called inside a scope."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.models import AuditEntry, Memory, MemoryVersion, StoredAct
from memories.store.queries.texts import SEARCH_COLUMNS

#: Maximum changes of an act that are shown.
CHANGES_SHOWN_MAX = 3
#: Maximum characters of a former or new value.
_VALUE_CHARACTERS = 60
#: Fields that the label states, or that are derived from the text.
_UNSHOWN = ("archived_at", "member", "statements", "candidates", "receipt_id")
_FIELD_NAMES = {"created": "days after creation", "archived": "days after archiving", "is_enabled": "on"}
#: Acts that change a choice of fields.
EDITS = frozenset(
    {
        *("update_memory", "update_session", "change_golden_question", "edit_scoring_profile"),
        *("save_budget_profile", "roll_back_budget_profile"),
        *("publish_scoring_profile", "roll_back_scoring_profile"),
    }
)


def changes_of(
    entry: AuditEntry, act: StoredAct | None, edited: Mapping[UUID, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Return what an act changed: stored values, else those of the versions of a memory, else the names of fields."""
    if act is not None:
        return list(_changes(act))
    return list(_changed_values(edited[entry.pk])) if entry.pk in edited else _changed_fields(entry)


def edited_values(tenant_id: UUID, entries: Sequence[AuditEntry]) -> dict[UUID, list[dict[str, Any]]]:
    """Return the values that edits of memories changed, from their versions. Up to two queries."""
    if not entries:
        return {}
    ids, times = {entry.target_ids[0] for entry in entries}, [entry.at for entry in entries]
    versions = MemoryVersion.objects.for_tenant(tenant_id).filter(memory_id__in=ids)
    versions = versions.filter(Q(recorded_from__in=times) | Q(recorded_to__in=times)).defer(*SEARCH_COLUMNS)
    current = Memory.objects.for_tenant(tenant_id).with_ids(ids).defer(*SEARCH_COLUMNS)
    after: dict[Any, Any] = {(str(row.pk), row.recorded_from): row for row in current}
    after |= {(str(row.memory_id), row.recorded_from): row for row in versions}
    before = {(str(row.memory_id), row.recorded_to): row for row in versions}
    places = {entry.pk: (entry.target_ids[0], entry.at) for entry in entries}
    return {
        entry.pk: [
            {"field": name, "before": getattr(before[place], name), "after": getattr(after[place], name)}
            for name in entry.fields
            if hasattr(after[place], name)
        ]
        for entry in entries
        if (place := places[entry.pk]) in before and place in after
    }


def _changed_fields(entry: AuditEntry) -> list[str]:
    """Return the names of the fields that an edit changed, and the details; of other acts, the label says enough."""
    values = [f"{name}: {value}" for name, value in sorted(entry.details.items())]
    return [text.replace("_", " ") for text in (*(entry.fields if entry.verb in EDITS else ()), *values)]


def _changes(act: StoredAct) -> Iterator[str]:
    """Yield the former and the new values of an act, with the number of memories of each."""
    if act.act == StoredAct.Act.MERGE and act.kept:  # the undo of a merge keeps no memory
        yield f"{len(act.archived_ids):,} merged into {len(act.kept):,}"
    if act.act == StoredAct.Act.IMPORT:
        yield f"{act.changed_count:,} created"  # type: ignore[attr-defined]
    else:
        yield from _changed_values(act.changed)


def _changed_values(changed: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    values = Counter(
        (row["field"], _value(row["field"], row["before"]), _value(row["field"], row["after"]))
        for row in changed
        if row["field"] not in _UNSHOWN
    )
    for (field, before, after), count in values.most_common(CHANGES_SHOWN_MAX):
        name = _FIELD_NAMES.get(field) or field.removesuffix("_path").replace("_", " ")
        yield f"{name}: {before} → {after}" + (f" ({count:,})" if count > 1 else "")


def _value(field: str, value: Any) -> str:
    """Return a value as short text; for a list, the number of its elements."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"{len(value):,}"
    text = "none" if value is None else str(value) or ("(root)" if field == "partition_path" else "(empty)")
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[: _VALUE_CHARACTERS - 1].rstrip()}…"
