"""Every place that can contain text of a memory, in the order in which an erasure visits them (ADR-0130).

`tests/integration/compaction/erasure/test_every_column.py` fails for a table or text column that is not decided here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from django.apps import apps
from django.db.models import Model, Q, QuerySet

from compaction.erasure.selection import Selection
from compaction.models import Compaction, CompactionPrompt, Erasure, Message, RetentionPolicy, Session
from compaction.services.erasure.quotes import ERASED, QuotedTexts, erase_all_text, ids_in, mapped_strings
from context.models import (
    BudgetProfileAssignment,
    EvaluationRun,
    Feedback,
    GoldenMemory,
    GoldenQuestion,
    LongQuery,
    Receipt,
    ScoringProfileAssignment,
    ScoringProfileVersion,
)
from memories.models import (
    AuditEntry,
    AuditSeal,
    IdempotencyRecord,
    Memory,
    MemoryVersion,
    Partition,
    PartitionCount,
    PartitionCountChange,
    PartitionSummary,
    RetrievalTick,
    SavedView,
    Snapshot,
    StoredAct,
    Tenant,
    TenantMemo,
    UnsealedAuditEntry,
)
from memories.services.partitions.paths import is_within
from memories.tenancy.queries.conditions import session_summary_condition
from memory_platform.postgres.base import APPS, has_tenant

#: Derived from other rows; triggers and workers may write them while those rows are deleted.
UNCOUNTED = frozenset({PartitionCount, PartitionCountChange, UnsealedAuditEntry})
#: Deleted in the same transaction as the tenant.
_AUDIT_LOG = (AuditSeal, AuditEntry)
#: Rows erased in one transaction, with those that belong to them.
ROWS_BATCH = 500
#: A session may have tens of thousands of messages.
SESSIONS_BATCH = 10

#: Takes a chunk of rows (primary key, value of each column) and returns the primary keys to erase.
Choice = Callable[[Sequence[tuple[Any, ...]]], list[Any]]
_COMPACTION_TEXTS = (
    *("summary_text", "statements", "candidates", "journal", "retention", "warnings", "decision_reason"),
)


@dataclass(frozen=True)
class Part:
    """Rows that an erasure deletes or, with `change`, redacts: all of them, or those whose columns `choose` picks."""

    rows: "QuerySet[Any]"
    columns: tuple[str, ...] = ()
    choose: Choice | None = None
    change: Callable[[Any], Any] | None = None
    batch: int = ROWS_BATCH

    @property
    def model(self) -> type[Model]:
        return self.rows.model

    @property
    def kind(self) -> str:
        """The kind under which the receipt counts these rows."""
        return f"{kind_of(self.model)}, redacted" if self.change else kind_of(self.model)


def kind_of(model: type[Model]) -> str:
    """Return the name of the rows of a model in a receipt."""
    return re.sub(r"(?<![aeiou])ys$", "ies", str(model._meta.verbose_name_plural))


def parts_of(selection: Selection, quoted: QuotedTexts) -> list[Part]:
    """Return the parts of an erasure: first what refers to or quotes its memories, last the memories themselves."""
    if selection.erasure.scope == Erasure.Scope.TENANT:
        return _whole_tenant(selection)
    finder = _Finder(selection, quoted)
    return [
        *_records(selection, finder),
        *_free_texts(selection, finder),
        *_conversations(selection, finder),
        Part(selection.memories),  # before the sessions, by which some of them are selected
        Part(selection.sessions, batch=SESSIONS_BATCH),
        *_late_records(selection, finder),
        *(_places(selection) if selection.is_partition else ()),
    ]


class _Finder:
    """Chooses rows that name erased rows or quote erased texts."""

    def __init__(self, selection: Selection, quoted: QuotedTexts) -> None:
        self._selection, self._quoted = selection, quoted

    def names_or_quotes(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        ids = {pk: ids_in(values) for pk, *values in rows}
        erased = self._selection.named_among(set(chain.from_iterable(ids.values())))
        return [pk for pk, *values in rows if not erased.isdisjoint(ids[pk]) or self._quoted.is_quoted_in(values)]

    def quotes(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [pk for pk, *values in rows if self._quoted.is_quoted_in(values)] if self._quoted else []

    def mentions(self, rows: Any, *columns: str) -> Part:
        """Return the deletion of rows that name or quote what is erased."""
        return Part(rows, columns, self.names_or_quotes)

    def quoting(self, rows: Any, *columns: str, is_deleted: bool = False) -> Part:
        """Return the redaction, or deletion, of rows that quote what is erased."""
        return Part(rows, columns, self.quotes, None if is_deleted else self._quoted.redact)


def _records(selection: Selection, finder: _Finder) -> list[Part]:
    """Records that name rows by id, or that belong to the partition."""
    tenant_id = selection.tenant_id
    receipts, golden = Receipt.objects.for_tenant(tenant_id), GoldenQuestion.objects.for_tenant(tenant_id)
    of_partition = [
        receipts.filter(selection.within("partition_path")),
        golden.filter(selection.within("partition_path")),
    ]
    evidence = GoldenMemory.objects.for_tenant(tenant_id).filter(memory__in=selection.memories.values("pk"))
    return [
        # before the golden questions that they name
        finder.mentions(StoredAct.objects.for_tenant(tenant_id), "archived_ids", "kept", "changed"),
        finder.mentions(IdempotencyRecord.objects.for_tenant(tenant_id).exclude(answer=None), "answer"),
        *(map(Part, of_partition) if selection.is_partition else ()),
        finder.mentions(receipts, "memory_ids", "query", "request"),
        Part(golden.filter(pk__in=evidence.values("question"))),
        finder.quoting(golden, "text", "answer", is_deleted=True),
        finder.quoting(LongQuery.objects.for_tenant(tenant_id), "text", is_deleted=True),
        finder.mentions(RetrievalTick.objects.for_tenant(tenant_id), "memory_ids"),
    ]


def _late_records(selection: Selection, finder: _Finder) -> list[Part]:
    """Records of requests and roll-ups that read, changed or added memories while the erasure ran."""
    tenant_id, path_of = selection.tenant_id, partial(_without_paths, path=selection.erasure.partition_path)
    roll_ups = PartitionSummary.objects.for_tenant(tenant_id).filter(selection.late_roll_ups)
    receipts = Receipt.objects.for_tenant(tenant_id).filter(selection.late)
    answers = IdempotencyRecord.objects.for_tenant(tenant_id).filter(selection.late).exclude(answer=None)
    acts = StoredAct.objects.for_tenant(tenant_id).filter(selection.late_acts)
    return [
        Part(roll_ups.filter(selection.around("partition__path"))),
        Part(receipts, ("memory_ids",), _naming_absent_memories),
        finder.mentions(answers, "answer"),
        # What was added during the erasure is deleted by now, so its ids are not recognised.
        Part(answers, ("answer",), _naming_absent_sessions),
        *([Part(answers, ("answer",), partial(_changed_by, path_of))] if selection.is_partition else ()),
        finder.quoting(acts, "changed", is_deleted=True),
        *([Part(acts, ("changed",), partial(_changed_by, path_of))] if selection.is_partition else ()),
    ]


def _naming_absent_memories(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    named = set(chain.from_iterable(ids for _, ids in rows))
    absent = named - set(Memory.objects.filter(pk__in=named).values_list("pk", flat=True))
    return [pk for pk, ids in rows if not absent.isdisjoint(ids)]


def _naming_absent_sessions(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    named = {pk: ids_in(_session_ids(answer["body"])) for pk, answer in rows}
    stored = set(Session.objects.filter(pk__in=set(chain.from_iterable(named.values()))).values_list("pk", flat=True))
    return [pk for pk, ids in named.items() if not ids <= stored]


def _session_ids(body: Any) -> list[Any]:
    """Return the `session_id` of a response and of each of its results; metadata of callers are not read."""
    results = body.get("results", ()) if isinstance(body, dict) else ()
    return [each.get("session_id") for each in (body, *results) if isinstance(each, dict)]


def _free_texts(selection: Selection, finder: _Finder) -> list[Part]:
    """Texts that people, agents and models wrote, which may quote."""
    tenant_id = selection.tenant_id
    summaries = PartitionSummary.objects.for_tenant(tenant_id)
    above = summaries.filter(selection.around("partition__path"))
    # A model chooses its own words, so the source of a sentence cannot be determined.
    by_models = above.filter(origin=PartitionSummary.Origin.ROLL_UP).exclude(summariser="extractive")
    oldest = selection.memories.order_by("recorded_from").values_list("recorded_from", flat=True).first()
    by_models = by_models.filter(recorded_from__gte=oldest) if oldest else by_models.none()
    audit, views = AuditEntry.objects.for_tenant(tenant_id), SavedView.objects.for_tenant(tenant_id)
    acts = StoredAct.objects.for_tenant(tenant_id)
    path_of = partial(_without_paths, path=selection.erasure.partition_path)
    return [
        *([Part(summaries.filter(selection.within("partition__path")))] if selection.is_partition else ()),
        Part(by_models),
        finder.quoting(above, "content"),
        finder.quoting(TenantMemo.objects.for_tenant(tenant_id), "content"),
        finder.quoting(views, "filters", "name", is_deleted=True),
        finder.quoting(Snapshot.objects.for_tenant(tenant_id), "name", is_deleted=True),
        finder.quoting(CompactionPrompt.objects.for_tenant(tenant_id), "text"),
        finder.quoting(EvaluationRun.objects.for_tenant(tenant_id), "corpus_text", "results"),
        finder.quoting(ScoringProfileVersion.objects.for_tenant(tenant_id), "argument"),
        finder.quoting(Feedback.objects.for_tenant(tenant_id), "reason"),
        finder.quoting(audit, "reason"),
        *([Part(audit, ("target_ids",), partial(_changed_by, path_of), path_of)] if selection.is_partition else ()),
        *([Part(views, ("filters",), partial(_changed_by, path_of))] if selection.is_partition else ()),
        *([Part(acts, ("changed",), partial(_changed_by, path_of))] if selection.is_partition else ()),
    ]


def _conversations(selection: Selection, finder: _Finder) -> list[Part]:
    """Sessions that are kept, above the partition or in it: their messages, compactions and stored summaries."""
    tenant_id = selection.tenant_id
    stays = selection.around("session__partition_path") & ~Q(session__in=selection.sessions.values("pk"))
    messages = Message.objects.for_tenant(tenant_id).filter(stays)
    sessions = Session.objects.for_tenant(tenant_id).filter(selection.around("partition_path"))
    sessions = sessions.exclude(pk__in=selection.sessions.values("pk"))
    summaries = Memory.objects.for_tenant(tenant_id).filter(session_summary_condition())
    summaries = summaries.filter(selection.around("partition_path")).exclude(pk__in=selection.memories.values("pk"))
    erase = partial(mapped_strings, change=erase_all_text)
    return [
        finder.quoting(messages, "content", "tool_calls", "metadata"),
        Part(selection.cited_messages.exclude(content__in=["", ERASED]), ("content",), _all_of, erase),
        finder.quoting(sessions, "directive", "metadata"),
        # After the messages: a compaction that runs since before is repeated if it ends from now on, and is found here
        # with its summary if it ended earlier.
        finder.quoting(Compaction.objects.for_tenant(tenant_id).filter(stays), *_COMPACTION_TEXTS),
        finder.quoting(summaries, "content", is_deleted=True),
        finder.quoting(messages.filter(compaction__isnull=False), "content", "metadata"),
    ]


def _places(selection: Selection) -> list[Part]:
    """The other rows of a partition besides memories and sessions; API keys are kept until they are revoked."""
    tenant_id, within = selection.tenant_id, selection.within("partition_path")
    partitions = Partition.objects.for_tenant(tenant_id).filter(selection.within("path"))
    return [
        Part(MemoryVersion.objects.for_tenant(tenant_id).filter(within)),
        Part(BudgetProfileAssignment.objects.for_tenant(tenant_id).filter(within)),
        Part(ScoringProfileAssignment.objects.for_tenant(tenant_id).filter(within)),
        Part(RetentionPolicy.objects.for_tenant(tenant_id).filter(within)),
        Part(partitions),
    ]


def _whole_tenant(selection: Selection) -> list[Part]:
    """Return every table of a tenant, in an order that foreign keys allow, then the tenant with its audit log."""
    first: list[Any] = [Session, Memory, ScoringProfileVersion]
    others = [model for app in sorted(APPS) for model in apps.get_app_config(app).get_models() if has_tenant(model)]
    models = [*first, *(model for model in others if model not in (*first, *_AUDIT_LOG, Erasure))]
    batches = {Session: SESSIONS_BATCH}
    rows = [
        Part(model.objects.for_tenant(selection.tenant_id), batch=batches.get(model, ROWS_BATCH)) for model in models
    ]
    return [*rows, Part(Tenant.objects.filter(pk=selection.tenant_id))]


def _without_paths(value: Any, *, path: str) -> Any:
    return mapped_strings(value, lambda text: ERASED if "=" in text and is_within(text, path) else text)


def _changed_by(change: Callable[[Any], Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [pk for pk, *values in rows if change(values) != values]


def _all_of(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [pk for pk, *_ in rows]
