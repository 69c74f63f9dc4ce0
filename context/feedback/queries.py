"""Votes on memories."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Self
from uuid import UUID

from django.db.models import F, Max, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.rows import TenantRows


class FeedbackQuerySet(TenantRows):
    """Votes on memories."""

    def for_reach(self, reach: str) -> Self:
        """Votes on memories that are in `reach` or below it; "" reaches all."""
        return self.filter(path_condition("memory__partition_path", reach, exact=False)) if reach else self

    def with_id(self, feedback_id: UUID) -> Self:
        return self.filter(pk=feedback_id)

    def on_memories(self, memory_ids: Iterable[UUID]) -> Self:
        return self.filter(memory_id__in=list(memory_ids))

    def on_receipt(self, receipt_id: UUID) -> Self:
        return self.filter(receipt_id=receipt_id)

    def given_within(self, memory_id: UUID, reach: str) -> Self:
        """Votes on a memory since it last stood outside of `reach`: what was said of it there is not told here."""
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

    def standing(self) -> Self:
        """Those that were not taken back."""
        return self.filter(withdrawn_at__isnull=True)

    def given_since(self, moment: datetime) -> bool:
        """Whether there is any that was given at `moment` or later."""
        return self.filter(at__gte=moment).exists()

    def explicit(self) -> Self:
        return self.filter(kind="explicit")

    def implied_on(self, day: date) -> Self:
        """What answers of a day implied, taken back or not."""
        return self.filter(kind="implicit", on_day=day)

    def repeating(self, vote: Any) -> Self:
        """Standing votes of the same day, actor, occasion and weight as `vote`."""
        same = ("kind", "weight", "receipt_id", "on_day", "actor_kind", "actor_id", "actor_label")
        return self.standing().filter(**{name: getattr(vote, name) for name in same})

    def newest_first(self) -> Self:
        return self.order_by("-at", "-pk")

    def sums_by_memory(self) -> dict[UUID, tuple[float, float]]:
        """Of each memory that has standing votes: what weighs for it and what against it, both as amounts."""
        votes = self.standing().order_by().values("memory_id")
        sums = votes.annotate(
            positive=Coalesce(Sum("weight", filter=Q(weight__gt=0)), 0.0),
            negative=Coalesce(Sum("weight", filter=Q(weight__lt=0)), 0.0),
        )
        return {row["memory_id"]: (row["positive"], -row["negative"]) for row in sums}

    def scores_before(self) -> dict[UUID, float]:
        """Of each memory the usefulness it had before its first vote, where that was noted."""
        first = self.filter(score_before__isnull=False).order_by("memory_id", "at", "pk").distinct("memory_id")
        return dict(first.values_list("memory_id", "score_before"))
