"""Findings about memories for the hygiene lists (ADR-0083)."""

from django.db import models
from django.db.models import F, Q

from memories.hygiene.queries import MemoryFindingQuerySet, MemoryPairQuerySet, UncomparedMemoryQuerySet
from memories.models.memory import Memory
from memories.models.tenancy import Tenant, check, one_of, unique

#: Findings that are not dismissed.
_OPEN = Q(dismissed_at__isnull=True)


class UncomparedMemory(models.Model):
    """An embedded version of a memory that is not yet compared with its partition."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+", db_index=False)
    version = models.PositiveIntegerField()

    objects = UncomparedMemoryQuerySet.as_manager()

    class Meta:
        constraints = [unique("uncompared_version_is_unique", "memory", "version", "tenant")]
        indexes = [models.Index(fields=["tenant", "id"], name="uncompared_of_tenant")]

    def __str__(self) -> str:
        return f"version {self.version} of {self.memory_id}"


class MemoryPair(models.Model):
    """Two memories in one list that are nearly equal, or one of which replaced the other; a dismissed pair is kept."""

    class Kind(models.TextChoices):
        NEAR_DUPLICATE = "near_duplicate"
        CONTRADICTION = "contradiction"
        RECALL_LOOP = "recall_loop"
        REPLACED = "replaced"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind)
    older = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+", db_index=False)
    newer = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    similarity = models.FloatField(
        null=True, blank=True, help_text="Cosine of their vectors when they were compared, 0 to 1."
    )
    texts_hash = models.CharField(
        max_length=64, help_text="Hash of both texts and partitions; an edit creates another pair."
    )
    found_at = models.DateTimeField()
    dismissed_at = models.DateTimeField(null=True, blank=True)

    objects = MemoryPairQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("memory_pair_is_unique", "older", "newer", "tenant"),
            check(~Q(older=F("newer")), "memory_pair_joins_two_memories"),
            one_of("kind", ["near_duplicate", "contradiction", "recall_loop", "replaced"], "memory_pair_kind_is_known"),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "kind", "-similarity", "id"], name="memory_pair_most_alike", condition=_OPEN
            ),
            models.Index(fields=["tenant", "kind", "-found_at", "id"], name="memory_pair_newest", condition=_OPEN),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.older_id} {self.newer_id}"


class MemoryFinding(models.Model):
    """A memory in a hygiene list; a dismissed one is kept."""

    class Kind(models.TextChoices):
        NEVER_RETRIEVED = "never_retrieved"
        UNHELPFUL = "unhelpful"
        EXPIRES_SOON = "expires_soon"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+", db_index=False)
    weight = models.PositiveIntegerField(help_text="Tokens (o200k_base), or retrievals in lists about retrieval.")
    at = models.DateTimeField(help_text="When it was stored, or when it expires.")
    found_at = models.DateTimeField()
    dismissed_at = models.DateTimeField(null=True, blank=True)

    objects = MemoryFindingQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("memory_finding_is_unique", "memory", "kind", "tenant"),
            one_of("kind", ["never_retrieved", "unhelpful", "expires_soon"], "memory_finding_kind_is_known"),
        ]
        indexes = [
            models.Index(fields=["tenant", "kind", "-weight", "id"], name="memory_finding_heaviest", condition=_OPEN),
            models.Index(fields=["tenant", "kind", "at", "-id"], name="memory_finding_earliest", condition=_OPEN),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.memory_id}"
