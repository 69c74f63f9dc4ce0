"""The queryset of long queries."""

from datetime import datetime
from uuid import UUID

from memories.tenancy.queries.rows import TenantRows


class LongQueryQuerySet(TenantRows):
    """Queries that are too long for a URL."""

    def text_of(self, query_id: UUID) -> str | None:
        """Return the text of a query; None where there is none."""
        return self.filter(pk=query_id).values_list("text", flat=True).first()

    def discard_before(self, moment: datetime) -> None:
        """Delete those entered before `moment`."""
        self.filter(created_at__lt=moment).delete()
