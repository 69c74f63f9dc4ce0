"""Store a query that is too long for a URL."""

from datetime import datetime
from uuid import UUID, uuid5

from django.db import transaction

from context.models import LongQuery
from memories.tenancy.audit import Actor, record_audit


@transaction.atomic
def store_long_query(*, tenant_id: UUID, text: str, by: Actor, now: datetime) -> UUID:
    """Return the id of a query, which is the same for the same text. Stores no second row."""
    query_id = uuid5(tenant_id, text)
    rows = LongQuery.objects.for_tenant(tenant_id)
    _, is_new = rows.get_or_create(id=query_id, tenant_id=tenant_id, defaults={"text": text, "created_at": now})
    if is_new:
        record_audit("store_long_query", "long_query", [query_id], tenant_id=tenant_id, by=by, now=now)
    return query_id
