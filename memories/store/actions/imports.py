"""Import many memories as one act, which the Activity page undoes; or find out what the import would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from memories.models import HygieneAct, Memory, Tenant
from memories.services.store.drafts import NewMemory
from memories.store.actions.store import StoreResult, StoreStatus, store_memories
from memories.tenancy.audit import Actor, audit_rows

#: Rows that are stored in one call.
IMPORT_BATCH_ROWS = 500


@dataclass(frozen=True)
class ImportedRows:
    """The results of the rows of an import in their order; `act` is None if it created no memory."""

    results: Sequence[StoreResult]
    act: HygieneAct | None


@transaction.atomic
def import_memories(*, tenant: Tenant, rows: Sequence[NewMemory], by: Actor, now: datetime) -> ImportedRows:
    """Store all rows or, after an exception, none. Undoing the act archives the memories that it created.

    An updated memory keeps its new version; the earlier one is on its page.
    """
    results = list[StoreResult]()
    for start in range(0, len(rows), IMPORT_BATCH_ROWS):
        results += store_memories(tenant=tenant, rows=rows[start : start + IMPORT_BATCH_ROWS], by=by, now=now)
    created = [row.memory for row in results if row.memory is not None and row.status == StoreStatus.CREATED]
    if not created:
        return ImportedRows(results, None)
    act = HygieneAct.objects.create(
        tenant_id=tenant.pk, act=HygieneAct.Act.IMPORT, at=now, changed=[_archived_by_undo(row, now) for row in created]
    )
    audit_rows("import_memories", created, act_id=act.pk, by=by, now=now)
    return ImportedRows(results, act)


@transaction.atomic
def preview_import(*, tenant: Tenant, rows: Sequence[NewMemory], by: Actor, now: datetime) -> Sequence[StoreResult]:
    """Return what `import_memories` would do: it runs and is rolled back, so no rule is written twice.

    Writers of the same texts and source ids wait meanwhile.
    """
    results = import_memories(tenant=tenant, rows=rows, by=by, now=now).results
    transaction.set_rollback(True)
    return results


def _archived_by_undo(row: Memory, now: datetime) -> dict[str, Any]:
    """Return what makes the undo archive a memory that has not changed since."""
    return {"id": str(row.pk), "field": "archived_at", "before": now, "after": None, "version": row.version}
