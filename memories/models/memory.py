"""Partitions, memories with versions, vectors and links."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.lookups import Exact
from pgvector.django import HalfVectorField

from memories.embeddings.queries.vectors import MemoryEmbeddingQuerySet
from memories.models.tenancy import Tenant, bounded_bytes, check, unique
from memories.partitions.queries.partitions import MemoryLinkQuerySet, PartitionQuerySet
from memories.services.partitions.paths import MAX_DEPTH
from memories.services.search.lexemes import MARK_DIGITS
from memories.services.store.content import MAX_CONTENT_BYTES, MAX_METADATA_BYTES
from memories.store.queries.memories import MemoryQuerySet, MemoryVersionQuerySet
from memories.store.queries.texts import SEARCH_COLUMNS
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG

#: The columns that sums and comparisons read; a retrieval changes none of them.
COUNTED_COLUMNS = ("id", "version", "pinned", "tokens_o200k_base", "archived_at", "expires_at", "recorded_from")
KIND_PATTERN = r"^[a-z][a-z0-9_-]{0,31}$"


class Partition(models.Model):
    """A path of `key=value` segments; the tenant's root is the empty path. Rows of all ancestors exist."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="partitions", db_index=False)
    path = models.TextField(blank=True, db_collation="C")
    depth = models.PositiveSmallIntegerField()
    segments = ArrayField(models.TextField(), default=list, blank=True)

    objects = PartitionQuerySet.as_manager()

    class Meta:
        ordering = ["path"]
        constraints = [
            unique("partition_path_is_unique", "tenant", "path"),
            check(Q(depth__lte=MAX_DEPTH), "partition_depth_is_bounded"),
            check(Q(segments__len=F("depth")), "partition_depth_counts_segments"),
        ]
        indexes = [GinIndex(fields=["segments"], name="partition_segments")]

    def __str__(self) -> str:
        return self.path or "(root)"


class MemoryText(models.Model):
    """The columns of one version of a memory, shared by current and superseded rows."""

    kind = models.CharField(max_length=32, default="fact")
    content = models.TextField()
    content_hash = models.CharField(max_length=64)
    confidence = models.FloatField(default=0.8)
    pinned = models.BooleanField(default=False)
    metadata = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(help_text="When it happened or was said; scoring computes the age from it.")
    expires_at = models.DateTimeField(null=True, blank=True)
    source_id = models.CharField(max_length=255, default="", blank=True)
    session = models.CharField(max_length=255, default="", blank=True)
    position = models.PositiveIntegerField(null=True, blank=True)
    partition_path = models.TextField(blank=True, db_collation="C", editable=False)
    tokens_o200k_base = models.PositiveIntegerField(editable=False)
    tokens_cl100k_base = models.PositiveIntegerField(editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    valid_from = models.DateTimeField(editable=False)
    recorded_from = models.DateTimeField(editable=False)
    #: Set by the database: the language of the tenant when the row was written or derived again.
    search_config = models.CharField(max_length=63, default=DEFAULT_TEXT_SEARCH_CONFIG, editable=False)
    #: `search_columns` of the text; the constraints below reject those of a different text.
    search_words = models.TextField(blank=True, editable=False)
    search_lexemes = ArrayField(models.TextField(), editable=False)
    search_of = models.CharField(max_length=MARK_DIGITS, editable=False)

    class Meta:
        abstract = True

    @property
    def token_counts(self) -> dict[str, int]:
        """Tokens of `content` by encoding, as counted when it was written."""
        return {"o200k_base": self.tokens_o200k_base, "cl100k_base": self.tokens_cl100k_base}


#: The names of these columns in both tables, except those that are derived from the text.
VERSION_COLUMNS = tuple(field.name for field in MemoryText._meta.local_fields if field.name not in SEARCH_COLUMNS)


def _search_vector() -> models.GeneratedField:
    made = Func("search_config", "content", "search_words", "search_lexemes", function="memories_search_vector")
    return models.GeneratedField(expression=made, output_field=SearchVectorField(), db_persist=True)


def _is_share(field: str, name: str) -> models.CheckConstraint:
    return check(Q(**{f"{field}__gte": 0, f"{field}__lte": 1}), name)


def _is_derived_from_its_text() -> Exact:
    """Refuse search columns of another text."""
    digest = Func(F("content"), function="md5")
    mark = Func(digest, MARK_DIGITS, function="left", output_field=models.CharField(max_length=32))
    return Exact(F("search_of"), mark)


class Memory(MemoryText):
    """One piece of text: the current version, and the fields that all versions share."""

    class EmbeddingState(models.TextChoices):
        PENDING = "pending"
        READY = "ready"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memories", db_index=False)
    partition = models.ForeignKey(Partition, on_delete=models.PROTECT, related_name="memories")
    usefulness_score = models.FloatField(default=0.5)
    retrieval_count = models.PositiveIntegerField(default=0)
    last_retrieved_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Set with `archived_at` if another memory replaced it: when it stopped being true.",
    )
    embedding_state = models.CharField(max_length=8, choices=EmbeddingState, default=EmbeddingState.PENDING)
    embedding_error = models.CharField(max_length=200, default="", blank=True, editable=False)
    search_vector = _search_vector()

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            unique(
                "memory_is_unique_among_live",
                "tenant",
                "partition",
                "content_hash",
                "source_id",
                condition=Q(archived_at__isnull=True),
            ),
            check(Q(kind__regex=KIND_PATTERN), "memory_kind_is_a_word"),
            check(Q(content__regex=r"\S"), "memory_content_is_not_blank"),
            bounded_bytes("content", MAX_CONTENT_BYTES, "memory_content_is_bounded"),
            _is_share("confidence", "memory_confidence_is_a_share"),
            _is_share("usefulness_score", "memory_usefulness_is_a_share"),
            # jsonb is printed with spaces that the caller's text need not contain
            bounded_bytes(
                "metadata",
                2 * MAX_METADATA_BYTES,
                "memory_metadata_is_bounded",
                template="octet_length((%(expressions)s)::text)",
            ),
            check(
                Exact(Func(F("metadata"), function="jsonb_typeof", output_field=models.TextField()), "object"),
                "memory_metadata_is_an_object",
            ),
            check(Q(version__gte=1), "memory_version_starts_at_one"),
            check(
                Q(valid_to__isnull=True) | Q(archived_at__isnull=False, valid_to__gte=F("valid_from")),
                "memory_valid_interval",
            ),
            check(_is_derived_from_its_text(), "memory_search_is_of_its_text"),
            check(Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")), "memory_expires_after_creation"),
        ]
        indexes = [
            # Includes the columns of sums, so that figures of a whole tenant read no text.
            models.Index(
                fields=["tenant", "partition_path", "-created_at"], include=COUNTED_COLUMNS, name="memory_in_partition"
            ),
            models.Index(fields=["tenant", "-created_at", "id"], name="memory_newest"),
            models.Index(fields=["tenant", "id"], name="memory_by_id"),
            models.Index(F("tenant"), F("tokens_o200k_base").desc(), F("id"), name="memory_longest"),
            models.Index(F("tenant"), F("confidence").desc(), F("id"), name="memory_surest"),
            models.Index(fields=["tenant", "session", "position"], name="memory_in_session"),
            models.Index(
                fields=["tenant", "partition_path", "source_id"],
                name="memory_by_source",
                condition=Q(archived_at__isnull=True) & ~Q(source_id=""),
            ),
            models.Index(
                fields=["tenant", "-created_at", "id"],
                name="memory_pinned",
                condition=Q(pinned=True, archived_at__isnull=True),
            ),
            # Each state is counted by its own index (ADR-0092).
            models.Index(
                fields=["tenant", "kind"],
                include=["tokens_o200k_base"],
                name="memory_unarchived",
                condition=Q(archived_at__isnull=True),
            ),
            models.Index(
                fields=["tenant", "expires_at"],
                include=["kind", "tokens_o200k_base"],
                name="memory_expiring",
                condition=Q(archived_at__isnull=True, expires_at__isnull=False),
            ),
            models.Index(
                fields=["tenant", "-created_at", "id"], name="memory_archived", condition=Q(archived_at__isnull=False)
            ),
            models.Index(
                fields=["recorded_from"], condition=~Q(embedding_state="ready"), name="memory_waiting_for_embedding"
            ),
            GinIndex(fields=["search_vector"], name="memory_text", condition=Q(archived_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class MemoryVersion(MemoryText):
    """A superseded version with its valid and recorded intervals."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="versions", db_index=False)
    valid_to = models.DateTimeField()
    recorded_to = models.DateTimeField()
    search_vector = _search_vector()

    objects = MemoryVersionQuerySet.as_manager()

    class Meta:
        ordering = ["memory", "version"]
        constraints = [
            unique("memory_version_is_unique", "memory", "version", "tenant"),
            check(Q(valid_to__gte=F("valid_from")), "memory_version_valid_interval"),
            check(Q(recorded_to__gte=F("recorded_from")), "memory_version_recorded_interval"),
            check(_is_derived_from_its_text(), "version_search_is_of_its_text"),
        ]
        indexes = [
            models.Index(fields=["tenant", "partition_path", "recorded_to"], name="memory_version_in_partition"),
            models.Index(fields=["tenant", "session", "position"], name="memory_version_in_session"),
            GinIndex(fields=["search_vector"], name="memory_version_text"),
        ]

    def __str__(self) -> str:
        return f"version {self.version} of {self.memory_id}"


class MemoryEmbedding(models.Model):
    """The vector (unit length) of one version of a memory under one model."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="embeddings", db_index=False)
    version = models.PositiveIntegerField()
    model = models.CharField(max_length=100)
    dimension = models.PositiveSmallIntegerField()
    vector = HalfVectorField()
    # Maintained by triggers for every writer (ADR-0077), so that a search can filter vectors without reading memories.
    is_current = models.BooleanField(default=True, editable=False)
    partition_path = models.TextField(blank=True, default="", db_collation="C", editable=False)
    #: Put into the vector index after it was built; see `VectorIndex` (ADR-0123).
    is_indexed = models.BooleanField(db_default=False, default=False, editable=False)

    objects = MemoryEmbeddingQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("embedding_is_unique", "memory", "version", "model", "tenant"),
            check(
                Exact(Func(F("vector"), function="vector_dims", output_field=models.IntegerField()), F("dimension")),
                "embedding_has_its_dimension",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "model"], name="embedding_of_tenant"),
            models.Index(
                fields=["tenant", "model", "partition_path"],
                condition=Q(is_current=True),
                name="embedding_in_partition",
            ),
            models.Index(
                fields=["tenant", "model", "id"],
                condition=Q(is_current=True, is_indexed=False),
                name="embedding_not_marked",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} of version {self.version} of {self.memory_id}"


class MemoryLink(models.Model):
    """A typed, directed edge between two memories of one tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="links_out")
    target = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="links_in")
    kind = models.CharField(max_length=32)
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)

    objects = MemoryLinkQuerySet.as_manager()

    class Meta:
        constraints = [
            unique(
                "link_is_unique_among_live", "source", "target", "kind", "tenant", condition=Q(recorded_to__isnull=True)
            ),
            check(~Q(source=F("target")), "link_joins_two_memories"),
            check(Q(kind__regex=KIND_PATTERN), "link_kind_is_a_word"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id}"
