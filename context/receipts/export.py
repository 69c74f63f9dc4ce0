"""The context log as a file: one line for each receipt, without texts of memories."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from context.models import Receipt
from memories.services.store.record_files import record_header, record_line
from memories.tenancy.scopes import tenant_scope

#: Receipts in one file, and in one transaction.
EXPORTED_MAX, BATCH = 20_000, 500
COLUMNS = (
    *("id", "created_at", "api_key", "partition", "query", "model", "scoring_profile", "budget_profile"),
    *("max_tokens", "tokens_used", "included", "excluded", "latency_ms", "warnings"),
)


def exported_receipts(tenant_id: UUID, filters: Mapping[str, Any], file_type: str) -> Iterator[str]:
    """Yield the lines of the newest `EXPORTED_MAX` receipts that match, as CSV with a header or as JSON Lines.

    Call it with no scope open; each batch is read in its own.
    """
    yield record_header(COLUMNS, file_type)
    after: tuple[Any, Any] | None = None
    for _ in range(EXPORTED_MAX // BATCH):
        with tenant_scope(tenant_id):
            rows = Receipt.objects.for_tenant(tenant_id).listed(reach="", **filters).with_keys()
            batch = list(rows.page("-created_at", after=after, count=BATCH))
        for row in batch:
            yield record_line(dict(zip(COLUMNS, _values(row), strict=True)), file_type)
        if len(batch) < BATCH:
            return
        after = (batch[-1].created_at, batch[-1].pk)


def _values(row: Receipt) -> tuple[Any, ...]:
    return (
        str(row.pk),
        row.created_at.isoformat(),
        row.api_key.name if row.api_key else "",
        row.partition_path,
        row.query,
        row.request.get("model", ""),
        f"{row.profile['name']} {row.profile['version']}",
        f"{row.budget_profile['name']} {row.budget_profile['version']}",
        row.max_tokens,
        row.tokens_used,
        row.included_count,
        row.excluded_count,
        row.latency_ms,
        [warning["code"] for warning in row.warnings],
    )
