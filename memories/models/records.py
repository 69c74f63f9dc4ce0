"""Rows that stand beside memories: the memo, what was recalled, what was answered, who did what."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q

from memories.models.memory import Memory
from memories.models.tenancy import ApiKey, Tenant
from memories.querysets import (
    AuditEntryQuerySet,
    IdempotencyRecordQuerySet,
    RecalledTextQuerySet,
    TenantMemoQuerySet,
)


class TenantMemo(models.Model):
    """One short text per tenant that may lead every context; versions by recorded interval."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memos")
    version = models.PositiveIntegerField()
    content = models.TextField(blank=True)
    tokens_o200k_base = models.PositiveIntegerField()
    tokens_cl100k_base = models.PositiveIntegerField()
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)

    objects = TenantMemoQuerySet.as_manager()

    class Meta:
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "version"], name="memo_version_is_unique"),
            models.UniqueConstraint(
                fields=["tenant"], condition=Q(recorded_to__isnull=True), name="memo_has_one_current_version"
            ),
        ]

    def __str__(self) -> str:
        return f"memo version {self.version} of tenant {self.tenant_id}"

    @property
    def token_counts(self) -> dict[str, int]:
        """Tokens of `content` by encoding."""
        return {"o200k_base": self.tokens_o200k_base, "cl100k_base": self.tokens_cl100k_base}


class RecalledText(models.Model):
    """The hash of a memory's text that a context rendered, so that an agent does not store it back as new."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    recalled_hash = models.CharField(max_length=64)
    recalled_at = models.DateTimeField()

    objects = RecalledTextQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "recalled_hash"], name="recalled_text_is_unique")]
        indexes = [
            models.Index(fields=["tenant", "recalled_hash"], name="recalled_text_by_hash"),
            models.Index(fields=["recalled_at"], name="recalled_text_by_age"),
        ]

    def __str__(self) -> str:
        return f"recalled {self.memory_id}"


class IdempotencyRecord(models.Model):
    """The answer that a POST with an `Idempotency-Key` got, to be given again for the same request."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    idempotency_key = models.CharField(max_length=255)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField()

    objects = IdempotencyRecordQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["api_key", "idempotency_key"], name="idempotency_key_is_unique"),
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotency_record_by_age")]

    def __str__(self) -> str:
        return f"answer {self.status} of key {self.api_key_id}"


class AuditEntry(models.Model):
    """Who did what to which rows: names of fields, never their text."""

    class ActorKind(models.TextChoices):
        OPERATOR = "operator"
        KEY = "key"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=8, choices=ActorKind)
    actor_id = models.CharField(max_length=150, default="", blank=True)
    actor_label = models.CharField(max_length=150, default="", blank=True)
    verb = models.CharField(max_length=64)
    target_kind = models.CharField(max_length=64)
    target_ids = ArrayField(models.CharField(max_length=150), default=list)
    fields = ArrayField(models.CharField(max_length=64), default=list, blank=True)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["tenant", "-at"], name="audit_newest")]

    def __str__(self) -> str:
        return f"{self.verb} {self.target_kind} by {self.actor_kind}"
