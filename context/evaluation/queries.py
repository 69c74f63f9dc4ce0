"""Evaluations and golden questions."""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, Q, Value
from django.db.models.functions import Coalesce

from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.methods import rows_by, rows_of, rows_ordered_by, rows_where, rows_within, rows_without
from memories.tenancy.queries.rows import ClaimedRows, TenantRows

#: The columns that a list of runs does not read.
_LARGE_FIELDS = ("corpus_text", "profile_numbers")
#: The fields that must be equal so that the later of two runs can be called better or worse.
_COMPARED = ("corpus_kind", "corpus_name", "profile_name", "packer", "ordering")


class EvaluationRunQuerySet(ClaimedRows):
    #: Runs of the same corpus, which can be compared question by question.
    of_corpus = rows_by("corpus_sha256")
    #: Runs with exactly these scoring numbers.
    of_numbers = rows_by("profile_numbers")
    #: Rows as a list shows them.
    without_details = rows_without(*_LARGE_FIELDS)
    #: Rows as a list of work shows them.
    without_results = rows_without(*_LARGE_FIELDS, "results")
    in_state = rows_of("state")

    def twin_of(self, run: Any) -> Any:
        """Return the evaluation with the other model, None unless `run` compares embedding models."""
        kind = run.Corpus.GOLDEN_COPY
        rows = self.filter(corpus_kind=kind, created_at=run.created_at).exclude(pk=run.pk)
        return rows.without_details().first() if run.corpus_kind == kind else None

    def proving_numbers(self, numbers: dict[str, Any]) -> Self:
        """Finished runs on a named corpus with exactly these scoring numbers."""
        return self.of_numbers(numbers).in_state("done").exclude(corpus_name="")

    def of_either_numbers(self, numbers: dict[str, Any], others: dict[str, Any]) -> Self:
        """Finished runs on a named corpus with exactly one of two sets of scoring numbers."""
        return (self.proving_numbers(numbers) | self.proving_numbers(others)).defer("corpus_text", "results")

    def recalls(self, count: int) -> list[dict[str, Any]]:
        """Settings and results of the newest `count` finished runs on a named corpus, newest first."""
        rows = self.in_state("done").exclude(corpus_name="").order_by("-finished_at", "id")
        return list(rows.values(*_COMPARED, "results")[:count])

    def claim(self, row_id: UUID, *, now: datetime, until: datetime, **values: Any) -> int:
        """Claim a run; it forgets its last error."""
        return super().claim(row_id, now=now, until=until, error_code="", error_detail="", **values)

    def requeue(self) -> int:
        """Queue stopped runs again; return how many."""
        values = {"error_code": "", "error_detail": "", "finished_at": None, "attempts": 0}
        return self.update(state="queued", claimed_until=None, **values)

    def release(self) -> int:
        """End any claim, so that another worker can take the runs."""
        return self.update(state="queued", claimed_until=None)


class EvaluationAnswerQuerySet(TenantRows):
    """The measured questions of a run."""

    of_run = rows_by("run_id")
    in_order = rows_ordered_by("position")

    def question_ids(self) -> set[str]:
        return set(self.values_list("question_id", flat=True))


class GoldenQuestionQuerySet(TenantRows):
    """Golden questions of a tenant."""

    not_removed = rows_where(removed_at__isnull=True)
    removed = rows_where(removed_at__isnull=False)
    newest_first = rows_ordered_by("-created_at", "id")
    oldest_first = rows_ordered_by("created_at", "id")
    #: The question with this text, partition and time.
    with_question = rows_by("text", "partition_path", "as_of")
    #: Questions with this text and partition, at any time.
    with_text = rows_by("text", "partition_path")
    #: Questions with this memory as evidence, live or not.
    expecting = rows_by("evidence__memory_id")
    within = rows_within("partition_path")

    def with_evidence(self, now: datetime, reach: str = "") -> Self:
        """Add the evidence within `reach`: `memory_ids`, `live_memory_ids`, `archived_count` and `expired_count`.

        Evidence is live unless it is archived or expired at the time that the question is about: no context of that
        time can include it. `memory_ids` contains all evidence.
        """
        at = Coalesce(F("as_of"), now)
        column = "evidence__memory__{}".format
        exists = Q(evidence__isnull=False) & path_condition(column("partition_path"), reach, exact=False)
        is_kept = Q(**{column("archived_at__isnull"): True}) | Q(**{column("archived_at__gt"): at})
        is_unexpired = Q(**{column("expires_at__isnull"): True}) | Q(**{column("expires_at__gt"): at})
        is_archived, is_expired = Q(**{column("archived_at__lte"): at}), Q(**{column("expires_at__lte"): at})

        def ids(condition: Q) -> ArrayAgg:
            return ArrayAgg(column("id"), filter=condition, default=Value([]), order_by=column("id"))

        return self.annotate(
            memory_ids=ids(exists),
            live_memory_ids=ids(exists & is_kept & is_unexpired),
            archived_count=Count("evidence", filter=exists & is_archived),
            expired_count=Count("evidence", filter=exists & is_kept & is_expired),
        )


class GoldenMemoryQuerySet(TenantRows):
    """The evidence of golden questions."""

    of_question = rows_by("question_id")

    def with_memories(self) -> Self:
        """Load each row's memory in the same query (`select_related`), newest memory first."""
        return self.select_related("memory").defer("memory__search_vector").order_by("-memory__created_at", "memory_id")
