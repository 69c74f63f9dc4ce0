"""The targets of acts by text or name: for display on Activity, and for its search. Inside a scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.urls import reverse

from compaction.models import AlertDestination, Compaction, Message, Session
from context.models import EvaluationRun, GoldenQuestion
from memories.models import (
    ApiKey,
    AuditEntry,
    EmbeddingModel,
    Invitation,
    Memory,
    Partition,
    PartitionSummary,
    SavedView,
    Snapshot,
    Tenant,
)
from memories.search.queries.lexemes import tenant_query_lexemes
from memories.services.search.planner import match_rarest
from memories.services.tenancy.audit_targets import UUID_TEXT, audit_target_page, displayed_target_id
from memories.tenancy.queries.tenants import members_of
from memory_platform.web.numerals import version_label

#: Maximum targets of an act that are shown.
TARGETS_SHOWN_MAX = 3
_EXCERPT_CHARACTERS = 90
#: Maximum rows of a kind that a text finds.
_NAMED_MAX = 100
#: The number of characters shown of the id of a target without a name.
_ID_CHARACTERS = 8
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
#: The kind and the id of a target: a user and a version of the prompt may have the same number.
TargetKey = tuple[str, str]


@dataclass(frozen=True)
class ActTarget:
    """A row that an act changed, by its text or name; `url` is "" without a page for this operator."""

    text: str
    url: str


def targets_with(tenant_id: UUID, text: str) -> tuple[set[str], dict[str, set[str]]]:
    """Return the ids of memories with these words and of named rows; of each kind, a bounded number.

    The ids of partitions and users are numbers, which are only unique in their kind: they are returned by kind.
    """
    words = tenant_query_lexemes(tenant_id, text)
    memories = Memory.objects.for_tenant(tenant_id).matching_any(match_rarest(list(words), words))
    found = list(memories.values_list("pk", flat=True)[:_NAMED_MAX]) if words else []
    users = get_user_model().objects.filter(username__icontains=text)
    numbered = {"user": members_of([tenant_id]).filter(pk__in=users).values_list("pk", flat=True)[:_NAMED_MAX]}
    for kind, (model, column) in _NAMED.items():
        if model is not Message:  # their number has no bound, and no index finds a part of a text
            rows = model.objects.for_tenant(tenant_id).filter(**{f"{column}__icontains": text})
            ids = rows.values_list("pk", flat=True)[:_NAMED_MAX]
            if model is Partition:
                numbered[kind] = ids
            else:
                found += ids
    return {str(pk) for pk in found}, {kind: {str(pk) for pk in ids} for kind, ids in numbered.items()}


def target_texts(tenant_id: UUID, entries: Sequence[AuditEntry]) -> dict[TargetKey, str]:
    """Return the titles of sessions and of those of compactions, the partitions of summaries, and names."""
    ids = {kind: {pk for row in entries if row.target_kind == kind for pk in row.target_ids} for kind in _TITLED}
    compactions = Compaction.objects.for_tenant(tenant_id).with_ids(ids["compaction"]).with_titled_sessions()
    summaries = PartitionSummary.objects.for_tenant(tenant_id).filter(summary_id__in=ids["partition_summary"])
    paths = summaries.values_list("summary_id", "partition__path", "style").distinct()
    texts = _names(tenant_id, entries)
    if ids["compaction"]:
        texts |= {("compaction", str(row.pk)): row.session.title for row in compactions.without_details()}
    if ids["partition_summary"]:
        texts |= {("partition_summary", str(pk)): f"{path or '(root)'}, {style}" for pk, path, style in paths}
    if ids["session"]:
        sessions = Session.objects.for_tenant(tenant_id).with_ids(ids["session"]).with_titles()
        texts |= {("session", str(row.pk)): row.title for row in sessions}
    return texts


def _names(tenant_id: UUID, entries: Sequence[AuditEntry]) -> dict[TargetKey, str]:
    """Return the names of targets of `_NAMED`, of the tenant and of users. One query for each kind."""
    ids: dict[str, set[str]] = {}
    for entry in entries:
        ids.setdefault(entry.target_kind, set()).update(entry.target_ids[:TARGETS_SHOWN_MAX])
    names: dict[TargetKey, str] = {}
    for kind in ids.keys() & _NAMED.keys():
        model, column = _NAMED[kind]
        # a roll-up names its partition by the path, which needs no other name
        row_ids = {pk for pk in ids[kind] if kind != "partition" or pk.isdecimal()}
        rows = model.objects.for_tenant(tenant_id).filter(pk__in=row_ids)
        names |= {(kind, str(pk)): name for pk, name in rows.values_list("pk", column) if name}
    if "tenant" in ids:
        names |= {("tenant", str(row.pk)): row.name for row in Tenant.objects.filter(pk=tenant_id)}
    if user_ids := ids.get("user"):
        users = get_user_model().objects.filter(pk__in=user_ids)
        names |= {("user", str(pk)): name for pk, name in users.values_list("pk", "username")}
    return names


def act_target(
    tenant_id: UUID, entry: AuditEntry, place: int, texts: Mapping[TargetKey, str], is_admin: bool
) -> ActTarget:
    target_id = entry.target_ids[place]
    text = texts.get((entry.target_kind, target_id)) or _unnamed(entry.target_kind, target_id)
    page = audit_target_page(entry.verb, entry.target_kind, target_id, is_first=not place)
    url = ""
    if page is not None and (is_admin or not page.admins_only):
        url = reverse(page.name, args=[tenant_id, *page.args], query=page.query)
    return ActTarget(text if len(text) <= _EXCERPT_CHARACTERS else f"{text[: _EXCERPT_CHARACTERS - 1].rstrip()}…", url)


def _unnamed(kind: str, target_id: str) -> str:
    """Return the label of a target without a name."""
    title = kind.replace("_", " ").capitalize()
    match kind:
        case "tenant_memo":  # a tenant has one
            return title
        case "message":  # a message of an assistant that only calls tools
            return "Message without text"
        case "prompt":
            return f"Version {target_id}"
        case "alert_rule":
            return target_id.replace("_", " ").capitalize()
        case "budget_profile" | "scoring_profile":
            return version_label(target_id)
    return f"{title} {target_id[:_ID_CHARACTERS]}" if UUID_TEXT.fullmatch(target_id) else displayed_target_id(target_id)
