"""Create a partition without memories."""

from datetime import datetime

from django.db import transaction

from memories.models import Partition, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, audit_rows


@transaction.atomic
def create_partition(*, tenant: Tenant, partition: PartitionPath, by: Actor, now: datetime) -> tuple[Partition, bool]:
    """Create the partition and its ancestors; return it and whether it is new."""
    found: Partition | None = Partition.objects.for_tenant(tenant.pk).at([partition.path]).first()
    if found is not None:
        return found, False
    created = ensure_partitions(tenant.pk, [partition])[partition.path]
    audit_rows("create_partition", [created], fields=["path"], by=by, now=now)
    return created, True
