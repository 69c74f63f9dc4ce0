"""Other stored records: memo, summaries, snapshots, retrievals, recalled texts, stored responses, counts."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q

from memories.models.memory import Memory, Partition
from memories.models.tenancy import ApiKey, Tenant, bounded_bytes, check, one_of, unique
from memories.partitions.queries.partitions import PartitionSummaryQuerySet, SnapshotQuerySet, TenantMemoQuerySet
from memories.partitions.queries.tree import PartitionCountChangeQuerySet, PartitionCountQuerySet
from memories.services.store.content import MAX_CONTENT_BYTES
from memories.store.queries.ticks import RecalledTextQuerySet, RetrievalTickQuerySet
from memories.tenancy.queries.tenants import IdempotencyRecordQuerySet

#: The length of the package's key prefixes.
API_KEY_PREFIX_CHARACTERS = 8


class RecordedText(models.Model):
    """A version of a text with its token counts; the next version ends it at `recorded_to`."""

    version = models.PositiveIntegerField()
    tokens_o200k_base = models.PositiveIntegerField()
    tokens_cl100k_base = models.PositiveIntegerField()
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def token_counts(self) -> dict[str, int]:
        return {"o200k_base": self.tokens_o200k_base, "cl100k_base": self.tokens_cl100k_base}


class TenantMemo(RecordedText):
    """One short text per tenant that can be placed at the beginning of every context; versions by recorded interval."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memos", db_index=False)
    content = models.TextField(blank=True)

    objects = TenantMemoQuerySet.as_manager()

    class Meta:
        ordering = ["-version"]
        constraints = [
            unique("memo_version_is_unique", "tenant", "version"),
            unique("memo_has_one_current_version", "tenant", condition=Q(recorded_to__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"memo version {self.version} of tenant {self.tenant_id}"


class PartitionSummary(RecordedText):
    """One version of the roll-up text of a partition in one style; `summary_id` is stable through its versions."""

    class Style(models.TextChoices):
        COMPACT = "compact"
        DETAILED = "detailed"

    class Origin(models.TextChoices):
        OPERATOR = "operator"
        AGENT = "agent"
        ROLL_UP = "rollup"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    partition = models.ForeignKey(Partition, on_delete=models.CASCADE, related_name="summaries", db_index=False)
    summary_id = models.UUIDField(default=uuid.uuid4, editable=False)
    style = models.CharField(max_length=8, choices=Style, default=Style.COMPACT)
    content = models.TextField()
    origin = models.CharField(max_length=8, choices=Origin)
    summariser = models.CharField(
        max_length=32, default="", blank=True, help_text="What wrote a roll-up; blank for people and agents."
    )
    is_fallback = models.BooleanField(default=False, help_text="The model failed, so rules wrote the roll-up.")

    objects = PartitionSummaryQuerySet.as_manager()

    class Meta:
        ordering = ["partition", "style", "-version"]
        constraints = [
            unique("summary_version_is_unique", "tenant", "summary_id", "version"),
            unique("summary_of_style_is_one_row", "partition", "style", "version", "tenant"),
            unique(
                "summary_has_one_current_version", "partition", "style", "tenant", condition=Q(recorded_to__isnull=True)
            ),
            one_of("style", ["compact", "detailed"], "summary_style_is_known"),
            one_of("origin", ["operator", "agent", "rollup"], "summary_origin_is_known"),
            check(Q(content__regex=r"\S"), "summary_content_is_not_blank"),
            bounded_bytes("content", MAX_CONTENT_BYTES, "summary_content_is_bounded"),
            check(Q(recorded_to__isnull=True) | Q(recorded_to__gte=F("recorded_from")), "summary_recorded_interval"),
        ]

    def __str__(self) -> str:
        return f"{self.style} summary {self.summary_id} version {self.version}"


class Snapshot(models.Model):
    """A name for a recorded time of a tenant; deleting it deletes the name only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="snapshots", db_index=False)
    name = models.CharField(max_length=100)
    recorded_at = models.DateTimeField()
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150, default="", blank=True)

    objects = SnapshotQuerySet.as_manager()

    class Meta:
        ordering = ["-recorded_at", "name"]
        constraints = [
            unique("snapshot_name_is_unique", "tenant", "name"),
            check(Q(name__regex=r"^\S(.*\S)?$"), "snapshot_name_is_trimmed"),
            check(Q(recorded_at__lte=F("created_at")), "snapshot_is_of_the_past"),
        ]

    def __str__(self) -> str:
        return self.name


class RetrievalTick(models.Model):
    """What one context packed: memory ids and the hash of each rendered text, "" for none; folded later (ADR-0066)."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    api_key_prefix = models.CharField(max_length=API_KEY_PREFIX_CHARACTERS, default="", blank=True)
    context_partition = models.TextField(
        default="", blank=True, db_collation="C", help_text="And, after //, the segments that the context required."
    )
    memory_ids = ArrayField(models.UUIDField())
    recalled_hashes = ArrayField(models.CharField(max_length=64, blank=True), default=list)
    at = models.DateTimeField()

    objects = RetrievalTickQuerySet.as_manager()

    class Meta:
        constraints = [check(Q(recalled_hashes__len=F("memory_ids__len")), "retrieval_tick_has_pairs")]
        indexes = [models.Index(fields=["tenant", "id"], name="retrieval_tick_of_tenant")]

    def __str__(self) -> str:
        return f"{len(self.memory_ids)} retrievals at {self.at}"


class RecalledText(models.Model):
    """The hash of a memory's text that a context rendered, so that its receiver does not store it again as new."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+", db_index=False)
    recalled_hash = models.CharField(max_length=64)
    api_key_prefix = models.CharField(
        max_length=API_KEY_PREFIX_CHARACTERS, default="", blank=True, help_text="Of the receiver; empty for none."
    )
    context_partition = models.TextField(
        default="", blank=True, db_collation="C", help_text="And, after //, the segments that the context required."
    )
    first_recalled_at = models.DateTimeField(null=True, blank=True, help_text="Empty if it was not recorded.")
    recalled_at = models.DateTimeField(help_text="Last time it was rendered, to within an hour.")

    objects = RecalledTextQuerySet.as_manager()

    class Meta:
        constraints = [
            unique(
                "recalled_text_is_unique", "memory", "recalled_hash", "api_key_prefix", "context_partition", "tenant"
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "recalled_hash"], name="recalled_text_by_hash"),
            models.Index(fields=["recalled_at"], name="recalled_text_by_age"),
        ]

    def __str__(self) -> str:
        return f"recalled {self.memory_id}"


class IdempotencyRecord(models.Model):
    """The response to a POST with an `Idempotency-Key`, repeated for the same request."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    idempotency_key = models.CharField(max_length=255)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField()

    objects = IdempotencyRecordQuerySet.as_manager()

    class Meta:
        constraints = [unique("idempotency_key_is_unique", "api_key", "idempotency_key", "tenant")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_record_by_age")]

    def __str__(self) -> str:
        return f"answer {self.status} of key {self.api_key_id}"


class PartitionCount(models.Model):
    """Unarchived memories of one partition and its subtree, without unfolded changes; empty rows are deleted."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    path = models.TextField(blank=True, db_collation="C")
    own_rows = models.IntegerField(default=0)
    subtree_rows = models.IntegerField(default=0)

    objects = PartitionCountQuerySet.as_manager()

    class Meta:
        constraints = [unique("partition_count_is_one_row", "tenant", "path")]

    def __str__(self) -> str:
        return f"{self.subtree_rows} in {self.path or '(root)'}"


class PartitionCountChange(models.Model):
    """The number of rows that one statement added to or removed from a partition; inserted by triggers."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    path = models.TextField(blank=True, db_collation="C")
    rows = models.IntegerField()

    objects = PartitionCountChangeQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["tenant", "path"], include=["rows"], name="partition_count_change_at")]

    def __str__(self) -> str:
        return f"{self.rows:+} in {self.path or '(root)'}"
