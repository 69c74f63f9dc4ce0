"""Embedding models of tenants, and vectors that are still missing (ADR-0082)."""

import uuid

from django.db import models
from django.db.models import Q

from memories.embeddings.queries.models import EmbeddingModelQuerySet, MissingVectorQuerySet
from memories.models.memory import Memory
from memories.models.tenancy import Tenant, check, one_of, unique


class EmbeddingModel(models.Model):
    """One model of one tenant: exactly one is active; others are being filled or kept up to date."""

    class State(models.TextChoices):
        FILLING = "filling"
        STANDBY = "standby"
        ACTIVE = "active"
        RETIRING = "retiring"
        RETIRED = "retired"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="embedding_models", db_index=False)
    name = models.CharField(max_length=100)
    dimension = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=8, choices=State)
    is_chosen = models.BooleanField(
        default=False,
        help_text="Whether it was requested; otherwise it was the default when the first vector was stored.",
    )
    switches_when_filled = models.BooleanField(default=False)
    needed = models.PositiveIntegerField(default=0, help_text="Vectors that were missing when filling began.")
    error = models.CharField(max_length=300, default="", blank=True)
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    requested_by = models.CharField(max_length=150, default="", blank=True)
    started_at = models.DateTimeField()
    filled_at = models.DateTimeField(null=True, blank=True)
    activated_at = models.DateTimeField(null=True, blank=True)
    deactivated_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = EmbeddingModelQuerySet.as_manager()

    class Meta:
        ordering = ["started_at", "name"]
        constraints = [
            unique("embedding_model_is_one_row", "tenant", "name"),
            unique("embedding_model_one_is_active", "tenant", condition=Q(state="active")),
            unique("embedding_model_one_is_filled", "tenant", condition=Q(state="filling")),
            one_of("state", ["filling", "standby", "active", "retiring", "retired"], "embedding_model_state_is_known"),
            check(Q(dimension__gte=1), "embedding_model_has_a_dimension"),
        ]

    def __str__(self) -> str:
        return self.name


class MissingVector(models.Model):
    """A version without a vector of a filled or maintained model; a refused one stays, with the reason."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    model = models.ForeignKey(EmbeddingModel, on_delete=models.CASCADE, related_name="missing", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    version = models.PositiveIntegerField()
    is_refused = models.BooleanField(default=False)
    error = models.CharField(max_length=200, default="", blank=True)

    objects = MissingVectorQuerySet.as_manager()

    class Meta:
        constraints = [unique("missing_vector_is_unique", "model", "memory", "version", "tenant")]
        indexes = [
            models.Index(fields=["model", "id"], condition=Q(is_refused=False), name="missing_vector_waiting"),
            models.Index(fields=["model", "id"], condition=Q(is_refused=True), name="missing_vector_refused"),
        ]

    def __str__(self) -> str:
        return f"version {self.version} of {self.memory_id}"
