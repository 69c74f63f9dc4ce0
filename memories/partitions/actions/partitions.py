"""Making a partition before anything is stored in it."""

from datetime import datetime

from django.db import transaction

from memories.models import Partition, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, record_audit


@transaction.atomic
def create_partition(*, tenant: Tenant, partition: PartitionPath, by: Actor, now: datetime) -> tuple[Partition, bool]:
    """The partition with all above it, and whether it is new; one that is there already stays as it is."""
    found: Partition | None = Partition.objects.for_tenant(tenant.pk).at([partition.path]).first()
    if found is not None:
        return found, False
    made = ensure_partitions(tenant.pk, [partition])[partition.path]
    record_audit(
        tenant_id=tenant.pk,
        by=by,
        verb="create_partition",
        target_kind="partition",
        target_ids=[made.pk],
        fields=["path"],
        now=now,
    )
    return made, True
