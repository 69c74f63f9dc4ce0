"""Idempotency records and audit entries."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db.models import OuterRef, QuerySet

from memories.tenancy.queries.rows import TenantRows


class IdempotencyRecordQuerySet(TenantRows):
    def created_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)


class AuditEntryQuerySet(TenantRows):
    def newest_first(self) -> Self:
        return self.order_by("-at", "id")

    def of_kind(self, target_kind: str) -> Self:
        return self.filter(target_kind=target_kind)

    def of_verbs(self, verbs: Iterable[str]) -> Self:
        return self.filter(verb__in=list(verbs))

    def at_any(self, moments: Iterable[datetime]) -> Self:
        return self.filter(at__in=list(moments))

    def about(self, target_id: object) -> Self:
        return self.filter(target_ids__contains=[str(target_id)])

    def about_any(self, target_kind: str, target_ids: Iterable[object]) -> Self:
        return self.filter(target_kind=target_kind, target_ids__overlap=[str(target_id) for target_id in target_ids])

    def narrowed(
        self,
        *,
        actor: str = "",
        verb: str = "",
        target_kind: str = "",
        target_id: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Self:
        """Entries whose actor label and verb contain these texts, about this kind and id, within these times."""
        wanted = {
            "actor_label__icontains": actor,
            "verb__contains": verb,
            "target_kind": target_kind,
            "target_ids__contains": [target_id] if target_id else None,
            "at__gte": after,
            "at__lte": before,
        }
        return self.filter(**{column: value for column, value in wanted.items() if value})

    def names_in_newest(self, count: int) -> list[tuple[str, str, str]]:
        """(actor label, verb, target kind) of the newest `count` entries."""
        return list(self.newest_first().values_list("actor_label", "verb", "target_kind")[:count])

    def last_of_outer_key(self) -> QuerySet[Any, dict[str, Any]]:
        """The last change by the API key of the outer query, from an index.

        A condition on the kind of actor is unnecessary and would keep Postgres from using the index.
        """
        by_key = self.filter(actor_id=OuterRef("pk"))
        return by_key.order_by("-at").values("at")[:1]
