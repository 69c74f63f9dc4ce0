"""Import many memories in batches as one act, which can be undone on the Activity page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import StoredAct, Tenant
from memories.services.store.drafts import NewMemory
from memories.store.actions.store import store_memories
from memories.store.store_results import StoreResult, StoreStatus
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict

#: Maximum rows stored in one call.
IMPORT_BATCH_ROWS = 500


@dataclass(frozen=True)
class ImportedRows:
    """The results of the rows of a batch in their order; `act` is None until a batch has created a memory."""

    results: Sequence[StoreResult]
    act: StoredAct | None


@transaction.atomic
def import_memories(
    *, tenant: Tenant, rows: Sequence[NewMemory], act_id: UUID | None = None, by: Actor, now: datetime
) -> ImportedRows:
    """Store a batch or, after an exception, nothing of it. Undoing the act archives what all its batches created.

    `act_id` is the act of the preceding batches. An updated memory keeps its new version; the earlier one is on its
    page. Raises `Conflict` `undone` if the act has been undone.
    """
    act = _open_act(tenant, act_id) if act_id else None
    results = store_memories(tenant=tenant, rows=rows, by=by, now=now)
    created = [row.memory for row in results if row.memory is not None and row.status == StoreStatus.CREATED]
    # so that the undo archives the memories that have not changed since
    changed = [
        {"id": str(row.pk), "field": "archived_at", "before": now, "after": None, "version": row.version}
        for row in created
    ]
    if act is not None:
        act.changed += changed
        act.save(update_fields=["changed"])
    elif created:
        act = StoredAct.objects.create(tenant_id=tenant.pk, act=StoredAct.Act.IMPORT, at=now, changed=changed)
        audit_rows("import_memories", created, act_id=act.pk, by=by, now=now)
    return ImportedRows(results, act)


def _open_act(tenant: Tenant, act_id: UUID) -> StoredAct:
    acts = StoredAct.objects.for_tenant(tenant.pk).filter(act=StoredAct.Act.IMPORT, undone_at=None)
    act: StoredAct | None = acts.with_id(act_id).select_for_update().first()
    if act is None:
        raise Conflict("undone", "The import was undone. Select the file again.")
    return act
