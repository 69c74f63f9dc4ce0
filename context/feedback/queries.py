"""Votes on memories."""

from typing import Any, Self
from uuid import UUID

from django.db.models import F, Max, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.methods import rows_among, rows_by, rows_ordered_by, rows_where, rows_within
from memories.tenancy.queries.rows import TenantRows


class FeedbackQuerySet(TenantRows):
    """Votes on memories."""

    on_receipt = rows_by("receipt_id")
    explicit = rows_where(kind="explicit")
    newest_first = rows_ordered_by("-at", "-pk")
    #: Votes that were not withdrawn.
    standing = rows_where(withdrawn_at__isnull=True)
    on_memories = rows_among("memory_id")
    #: Votes on memories that are in `reach` or below it; "" reaches all.
    for_reach = rows_within("memory__partition_path")
    #: The votes that answers of a day implied, withdrawn or not.
    implied_on = rows_by("on_day", kind="implicit")

    def given_within(self, memory_id: UUID, reach: str) -> Self:
        """Votes on a memory since it was last outside `reach`; earlier ones may quote text that is not in reach."""
        if not reach:
            return self.on_memories([memory_id])
        versions = self.model._meta.apps.get_model("memories", "MemoryVersion").objects
        elsewhere = versions.of_memory(memory_id).exclude(path_condition("partition_path", reach, exact=False))
        left = elsewhere.order_by().values("memory_id").annotate(at=Max("recorded_to")).values("at")
        return (
            self.on_memories([memory_id])
            .annotate(entered=Subquery(left))
            .filter(Q(entered__isnull=True) | Q(at__gte=F("entered")))
        )

    def of_its_actor_and_day(self, vote: Any) -> Self:
        """Standing votes of the kind, actor and day of `vote`: at most one for each memory."""
        same = ("kind", "on_day", "actor_kind", "actor_id")
        return self.standing().filter(**{name: getattr(vote, name) for name in same})

    def sums_by_memory(self) -> dict[UUID, tuple[float, float]]:
        """Return by memory the sums of its positive and of its negative standing votes, both without sign."""
        votes = self.standing().order_by().values("memory_id")
        sums = votes.annotate(
            positive=Coalesce(Sum("weight", filter=Q(weight__gt=0)), 0.0),
            negative=Coalesce(Sum("weight", filter=Q(weight__lt=0)), 0.0),
        )
        return {row["memory_id"]: (row["positive"], -row["negative"]) for row in sums}

    def scores_before(self) -> dict[UUID, float]:
        """Return the usefulness of each memory before its first vote, if that is known."""
        first = self.filter(score_before__isnull=False).order_by("memory_id", "at", "pk").distinct("memory_id")
        return dict(first.values_list("memory_id", "score_before"))
