"""Delete, redact or count the rows of one part. Called inside a transaction (ADR-0130)."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any

from django.db.models import CASCADE, SET_NULL, Model, Q, QuerySet
from django.db.models.deletion import get_candidate_relations_to_delete

from compaction.erasure.parts import UNCOUNTED, Part, kind_of
from compaction.erasure.queries import all_ids, delete_rows, drop_references, first_ids
from compaction.erasure.selection import CHUNK
from compaction.models import Compaction, Message, Session
from compaction.pipeline.session_rows import (
    count_message_tokens,
    count_shown_tokens,
    count_text_tokens,
    recount_context,
)
from memories.models import AuditEntry, PartitionSummary, Tenant, TenantMemo
from memories.services.time_limits import in_time
from memories.services.tokens import token_counts
from memories.tenancy.audit_chain import delete_audit_log, redact_audit_entries

#: Called with the kind of rows and their primary keys.
Tally = Callable[[str, Sequence[Any]], None]


def chosen_ids(part: Part) -> list[Any]:
    """Return the primary keys of the rows that a part's `choose` selects, read in chunks."""
    if part.choose is None:
        return all_ids(part.rows)
    found: list[Any] = []
    chunk: list[tuple[Any, ...]] = []
    rows: Any = part.rows.order_by().values_list("pk", *part.columns).iterator(CHUNK)
    with closing(rows):  # an open cursor would outlive the transaction
        for row in in_time(rows):
            chunk.append(row)
            if len(chunk) == CHUNK:
                found += part.choose(chunk)
                chunk = []
    return found + (part.choose(chunk) if chunk else [])


def count_rows(parts: Sequence[Part]) -> dict[str, int]:
    """Return how many rows of each kind the parts would delete or redact, each row once."""
    deleted: dict[type[Model], list[Q]] = defaultdict(list)
    redacted: dict[str, set[Any]] = defaultdict(set)
    for part in parts:
        if part.change:
            redacted[part.kind].update(chosen_ids(part))
        else:
            rows = part.rows if part.choose is None else part.model._default_manager.filter(pk__in=chosen_ids(part))
            _add_tree(deleted, rows)
    counted = {model: conditions for model, conditions in deleted.items() if model not in UNCOUNTED}
    counts = {kind_of(model): _count(model, conditions) for model, conditions in counted.items()}
    counts |= {kind: len(ids) for kind, ids in redacted.items()}
    return {kind: count for kind, count in sorted(counts.items()) if count}


def _count(model: type[Model], conditions: Sequence[Q]) -> int:
    either = conditions[0]
    for condition in conditions[1:]:
        either |= condition
    return model._default_manager.filter(either).count()


def _add_tree(deleted: dict[type[Model], list[Q]], rows: "QuerySet[Any]") -> None:
    deleted[rows.model].append(Q(pk__in=rows.order_by().values("pk")))
    if rows.model is Tenant:
        deleted[AuditEntry].append(Q(tenant__in=rows.order_by().values("pk")))
    for model, column in _owned(rows.model):
        _add_tree(deleted, model._default_manager.filter(**{f"{column}__in": rows.order_by().values("pk")}))


def erase_next(part: Part, tally: Tally) -> bool:
    """Delete the next batch of a part without `choose`; return whether there was one."""
    ids = first_ids(part.rows, part.batch)
    if ids:
        delete_tree(part.model, ids, tally)
    return bool(ids)


def erase_chosen(part: Part, ids: Sequence[Any], tally: Tally, *, now: datetime) -> None:
    """Delete or redact those of these rows of a part that still exist."""
    if part.change is None:
        delete_tree(part.model, all_ids(part.rows.filter(pk__in=ids)), tally)
        return
    sessions = _locked_sessions(part, ids)
    rows = list(part.rows.filter(pk__in=ids).select_for_update(of=("self",)))
    for row in rows:
        if isinstance(row, Message):
            row.session = sessions[row.session_id]
        for column in part.columns:
            setattr(row, column, part.change(getattr(row, column)))
    _store(rows, part, now)
    for session in _sessions_of(rows):
        session.save(update_fields=recount_context(session))
    tally(part.kind, [row.pk for row in rows])


def delete_tree(model: type[Model], ids: Sequence[Any], tally: Tally) -> None:
    """Delete rows with all rows that belong to them, children first, and count each kind."""
    if not ids:
        return
    for child, column in _owned(model):
        delete_tree(child, all_ids(child._default_manager.filter(**{f"{column}__in": ids})), tally)
    for child, column in _relations(model, SET_NULL):
        drop_references(child, column, ids)
    delete_rows(model._default_manager.all(), ids)
    if model not in UNCOUNTED:
        tally(kind_of(model), ids)
    if model is Tenant:
        tally(kind_of(AuditEntry), all_ids(AuditEntry.objects.of_tenants(ids)))
        delete_audit_log(ids)


def _locked_sessions(part: Part, ids: Sequence[Any]) -> dict[Any, Session]:
    """Lock the sessions of the messages or compactions to redact, before the rows, as every writer of a session does.

    Otherwise an append in progress and the counts of the redacted context would overwrite each other.
    """
    if part.model not in (Message, Compaction):
        return {}
    owners = part.rows.filter(pk__in=ids).order_by().values("session")
    return {session.pk: session for session in Session.objects.filter(pk__in=owners).order_by("pk").locked()}


def _store(rows: Sequence[Any], part: Part, now: datetime) -> None:
    """Store redacted rows."""
    if part.model is AuditEntry and rows:
        redact_audit_entries(rows[0].tenant_id, rows, now=now)
        return
    for row in rows:
        row.save(update_fields=[*part.columns, *_recounted(row)])


def _owned(model: type[Model]) -> Iterator[tuple[Any, str]]:
    """Yield each model whose rows are deleted with a row of this one, with the column that refers to it."""
    return _relations(model, CASCADE)


def _relations(model: type[Model], on_delete: Any) -> Iterator[tuple[Any, str]]:
    relations: Any = get_candidate_relations_to_delete(model._meta)
    for relation in relations:
        if relation.on_delete is on_delete:
            yield relation.related_model, relation.field.name


def _recounted(row: Any) -> Sequence[str]:
    """Count the tokens of a redacted text again; return the changed columns."""
    if isinstance(row, Message):
        row.tokens = count_message_tokens(row, row.session.model)
        row.shown_tokens = row.tokens if row.compaction_id else count_shown_tokens(row, row.session.model)
        return ["tokens", "shown_tokens"]
    if isinstance(row, Session):
        row.directive_tokens = count_text_tokens(row.directive, row.model) if row.directive else 0
        return ["directive_tokens"]
    if isinstance(row, (PartitionSummary, TenantMemo)):
        counts = token_counts(row.content)
        row.tokens_o200k_base, row.tokens_cl100k_base = counts["o200k_base"], counts["cl100k_base"]
        return ["tokens_o200k_base", "tokens_cl100k_base"]
    return []


def _sessions_of(rows: Sequence[Any]) -> list[Session]:
    """Return the sessions whose contexts changed with these rows, each once."""
    sessions = {row.session_id: row.session for row in rows if isinstance(row, Message)}
    return [*sessions.values(), *(row for row in rows if isinstance(row, Session))]
