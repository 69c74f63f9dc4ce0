"""What the assignments of budget profiles and of scoring profiles have in common."""

from django.db import models
from django.db.models import Q
from django.db.models.constraints import BaseConstraint

from context.profiles.queries import ProfileAssignmentQuerySet
from memories.models import ApiKey, Tenant


class ProfileAssignment(models.Model):
    """A profile, by name, for one agent key or for a partition and all below it ("" is the whole tenant)."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    profile_name = models.CharField(max_length=64)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    partition_path = models.TextField(null=True, blank=True, db_collation="C")
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, default="")

    objects = ProfileAssignmentQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.profile_name} for {'a key' if self.api_key_id else self.partition_path or 'the tenant'}"


def assignment_constraints(prefix: str) -> list[BaseConstraint]:
    """One target each, and one assignment in force for a target; named after `prefix`."""
    return [
        models.CheckConstraint(
            condition=Q(api_key__isnull=True, partition_path__isnull=False)
            | Q(api_key__isnull=False, partition_path__isnull=True),
            name=f"{prefix}_has_one_target",
        ),
        models.UniqueConstraint(
            fields=["tenant", "api_key"],
            condition=Q(recorded_to__isnull=True, api_key__isnull=False),
            name=f"{prefix}_of_key_is_unique",
        ),
        models.UniqueConstraint(
            fields=["tenant", "partition_path"],
            condition=Q(recorded_to__isnull=True, partition_path__isnull=False),
            name=f"{prefix}_of_partition_is_unique",
        ),
    ]
