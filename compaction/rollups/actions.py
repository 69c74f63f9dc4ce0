"""Request a roll-up, which regenerates the summary of a partition."""

from datetime import datetime

from django.db import transaction

from compaction.models import Run
from compaction.rollups.rollups import open_roll_up
from compaction.tasks import enqueue_run
from memories.models import Partition, PartitionSummary
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import InvalidInput


@transaction.atomic
def request_roll_up(*, partition: Partition, style: str, by: Actor, now: datetime) -> Run:
    """Have a worker regenerate the partition's summary after the commit; return the run.

    Raises `InvalidInput` for an unknown style and for the root, `Conflict` while another such run is open.
    """
    if style not in PartitionSummary.Style.values:
        raise InvalidInput("invalid_choice", f"Known values: {', '.join(PartitionSummary.Style.values)}.", "style")
    if not partition.path:
        raise InvalidInput("no_roll_up", "The whole tenant has a memo but no summary.", "partition")
    run = open_roll_up(partition, style, by.label, now)
    tenant_id, targets = partition.tenant_id, [partition.path]
    record_audit("request_roll_up", "partition", targets, tenant_id=tenant_id, fields=[style], by=by, now=now)
    enqueue_run(run)
    return run
