"""How many memories stand where: folded counts, and the changes that wait to be folded in (ADR-0077)."""

from django.db import models

from memories.models.tenancy import Tenant
from memories.partitions.queries.tree import PartitionCountChangeQuerySet, PartitionCountQuerySet


class PartitionCount(models.Model):
    """Unarchived memories of one partition, and of it with all below; the waiting changes are to be added.

    A row goes when nothing is left to count, so that of an erased tenant too: hence no constraint on the tenant.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    path = models.TextField(blank=True, db_collation="C")
    own_rows = models.IntegerField(default=0)
    subtree_rows = models.IntegerField(default=0)

    objects = PartitionCountQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "path"], name="partition_count_is_one_row")]

    def __str__(self) -> str:
        return f"{self.subtree_rows} in {self.path or '(root)'}"


class PartitionCountChange(models.Model):
    """By how much one statement changed the rows of one partition. Inserted by triggers, never changed."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    path = models.TextField(blank=True, db_collation="C")
    rows = models.IntegerField()

    objects = PartitionCountChangeQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["tenant", "path"], include=["rows"], name="partition_count_change_at")]

    def __str__(self) -> str:
        return f"{self.rows:+} in {self.path or '(root)'}"
