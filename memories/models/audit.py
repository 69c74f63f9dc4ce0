"""The audit log, stored acts, and the rows that prove the log complete: seals, unsealed entries, the last check."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q

from memories.models.tenancy import Tenant, unique
from memories.services.tenancy.act_labels import AGENT_TRAFFIC, UNLISTED, act_label
from memories.services.tenancy.audit_seals import HASH_CHARACTERS
from memories.tenancy.queries.audit import (
    AuditCheckQuerySet,
    AuditEntryQuerySet,
    AuditSealQuerySet,
    StoredActQuerySet,
    UnsealedAuditEntryQuerySet,
)

#: Entries that the Activity page may list.
_IS_ACT = ~Q(actor_kind="key", verb__in=[*AGENT_TRAFFIC, *UNLISTED])


class AuditEntry(models.Model):
    """Who did what to which rows: names of fields, never their text; the reason if the act required one.

    The database refuses changes by the application; `audit_chain` redacts, and deletes with the tenant (ADR-0142).
    """

    class ActorKind(models.TextChoices):
        OPERATOR = "operator"
        KEY = "key"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.DO_NOTHING, related_name="+", db_index=False)
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=8, choices=ActorKind)
    actor_id = models.CharField(max_length=150, default="", blank=True)
    actor_label = models.CharField(max_length=150, default="", blank=True)
    verb = models.CharField(max_length=64)
    target_kind = models.CharField(max_length=64)
    #: Paths of partitions among them are longer than ids.
    target_ids = ArrayField(models.CharField(), default=list)
    fields = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    reason = models.TextField(
        default="", blank=True, help_text="The reason that the actor gave, where one is required."
    )

    #: Numbers, hashes and choices, never text.
    details = models.JSONField(default=dict, db_default={}, blank=True)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["tenant", "-at"], name="audit_newest"),
            models.Index(fields=["tenant", "actor_id", "-at"], name="audit_of_actor"),
            models.Index(fields=["tenant", "target_kind", "-at"], name="audit_of_kind"),
            models.Index(fields=["tenant", "verb", "-at"], name="audit_of_verb"),
            # Under row-level security, no array operator can use an index (ADR-0259).
            models.Index("tenant", F("target_ids__0"), F("at").desc(), name="audit_about_one"),
            models.Index(
                *("tenant", F("at").desc()), condition=Q(target_ids__1__isnull=False), name="audit_about_several"
            ),
            models.Index("tenant", F("at").desc(), condition=_IS_ACT, name="audit_listed_newest"),
            models.Index("tenant", "actor_kind", F("at").desc(), condition=_IS_ACT, name="audit_listed_of_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.target_kind} by {self.actor_kind}"

    @property
    def label(self) -> str:
        """What the console calls the act."""
        return act_label(self.verb)


class StoredAct(models.Model):
    """An act with the values that its undo needs: an action on memories, or one that changed values (ADR-0282).

    Of memories, it contains ids and values but never text; an erasure deletes the acts that name or quote what it
    erases.
    """

    class Act(models.TextChoices):
        MERGE = "merge"
        ARCHIVE = "archive"
        DISMISS = "dismiss"
        RESTORE = "restore"
        PIN = "pin"
        UNPIN = "unpin"
        KIND = "kind"
        MOVE = "move"
        REPLACE = "replace"
        IMPORT = "import"
        CHANGE = "change", "values that an act changed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    act = models.CharField(max_length=8, choices=Act)
    at = models.DateTimeField()
    archived_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    link_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, help_text="Links that it created.")
    pair_ids = ArrayField(models.BigIntegerField(), default=list, blank=True)
    finding_ids = ArrayField(models.BigIntegerField(), default=list, blank=True)
    kept = models.JSONField(
        default=list,
        blank=True,
        encoder=DjangoJSONEncoder,
        help_text="For each kept memory: the values merged into it.",
    )
    changed = models.JSONField(
        default=list,
        blank=True,
        encoder=DjangoJSONEncoder,
        help_text="For each changed memory or value: id, field, previous and new value.",
    )
    undone_at = models.DateTimeField(null=True, blank=True)

    objects = StoredActQuerySet.as_manager()

    class Meta:
        #: The name from before the model was renamed; processes of the former version use it during an upgrade.
        db_table = "memories_hygieneact"
        indexes = [models.Index(fields=["tenant", "-at"], name="hygiene_act_newest")]

    def __str__(self) -> str:
        return f"{self.act} {self.id}"


class AuditSeal(models.Model):
    """The place of an audit entry in its tenant's hash chain; a redaction has a separate seal (ADR-0142).

    `entry_id` is not a foreign key, so that a seal outlives an entry that was deleted by bypassing the application.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.DO_NOTHING, related_name="+", db_index=False)
    number = models.PositiveBigIntegerField(help_text="From 1 without gaps.")
    entry_id = models.UUIDField()
    is_redaction = models.BooleanField(default=False)
    content_hash = models.CharField(max_length=HASH_CHARACTERS)
    seal_hash = models.CharField(max_length=HASH_CHARACTERS)
    sealed_at = models.DateTimeField()

    objects = AuditSealQuerySet.as_manager()

    class Meta:
        constraints = [unique("audit_seal_number_is_unique", "tenant", "number")]
        indexes = [models.Index(fields=["tenant", "entry_id"], name="audit_seal_of_entry")]

    def __str__(self) -> str:
        return f"seal {self.number} of entry {self.entry_id}"


class UnsealedAuditEntry(models.Model):
    """An audit entry that has no seal yet; inserted by a trigger, in the order of the entries."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    entry_id = models.UUIDField()

    objects = UnsealedAuditEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "unsealed audit entries"
        indexes = [models.Index(fields=["tenant", "id"], name="unsealed_entry_of_tenant")]

    def __str__(self) -> str:
        return f"unsealed entry {self.entry_id}"


class AuditCheck(models.Model):
    """The result of the last scheduled check of a tenant's audit log."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    checked_at = models.DateTimeField()
    whole_checked_at = models.DateTimeField(null=True, help_text="When every seal was last checked.")
    last_number = models.PositiveBigIntegerField(help_text="The number of the last correct seal.")
    last_hash = models.CharField(max_length=HASH_CHARACTERS, default="", blank=True)
    last_sealed_at = models.DateTimeField(null=True, help_text="Of the last correct seal.")
    problem = models.CharField(max_length=32, default="", blank=True, help_text="Empty if nothing is wrong.")
    problem_entry_id = models.UUIDField(null=True)

    objects = AuditCheckQuerySet.as_manager()

    class Meta:
        constraints = [unique("audit_check_is_one_row", "tenant")]

    def __str__(self) -> str:
        return f"check of {self.last_number} seals: {self.problem or 'correct'}"
