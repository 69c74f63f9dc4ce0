"""Output serializers of memories: they build the responses and document them in the OpenAPI schema."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.utils.encoders import JSONEncoder

from memories.embeddings.vectors import VectorsAhead
from memories.models import Memory, MemoryEmbedding, MemoryVersion
from memories.services.store.drafts import NewMemory
from memories.store.store_results import StoreResult, StoreStatus
from memory_platform.rest.fields import format_utc
from memory_platform.rest.serializers import cached_serializer

ETAG_DIGEST_CHARACTERS = 16


def memory_etag(answer: Mapping[str, Any]) -> str:
    """Return version and digest of a response: `If-Match` compares the version, `If-None-Match` both."""
    return f'"{answer["version"]}.{_digest(answer)}"'


def content_etag(answer: Mapping[str, Any]) -> str:
    """Return the digest of a response without versions; `If-Match` and `If-None-Match` both compare it."""
    return f'"{_digest(answer)}"'


def _digest(answer: Mapping[str, Any]) -> str:
    text = json.dumps(answer, sort_keys=True, cls=JSONEncoder)
    return hashlib.sha256(text.encode()).hexdigest()[:ETAG_DIGEST_CHARACTERS]


class EmbeddingOutput(serializers.Serializer[Any]):
    """The state of a memory's vector; model and dimension are null until it has one."""

    state = serializers.ChoiceField(choices=Memory.EmbeddingState.choices)
    model = serializers.CharField(allow_null=True)
    dimension = serializers.IntegerField(allow_null=True)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        own = next(iter(instance.own_embeddings), None)
        values = {"state": instance.embedding_state, "model": own and own.model, "dimension": own and own.dimension}
        return super().to_representation(values)


class OutgoingLinkOutput(serializers.Serializer[Any]):
    """A link from this memory to another one."""

    target_id = serializers.UUIDField()
    kind = serializers.CharField()


class TokenCountsOutput(serializers.Serializer[Any]):
    """Tokens of the content by encoding."""

    o200k_base = serializers.IntegerField()
    cl100k_base = serializers.IntegerField()


class MemoryTextOutput(serializers.Serializer[Any]):
    """The fields of one version."""

    content = serializers.CharField()
    kind = serializers.CharField()
    partition = serializers.CharField(source="partition_path", help_text='Path; "" is the root.')
    confidence = serializers.FloatField()
    pinned = serializers.BooleanField()
    metadata = serializers.DictField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    source_id = serializers.CharField()
    session = serializers.CharField()
    position = serializers.IntegerField(allow_null=True)
    token_counts = TokenCountsOutput()
    version = serializers.IntegerField()


class MemoryOutput(MemoryTextOutput):
    """A memory."""

    id = serializers.UUIDField()
    usefulness_score = serializers.FloatField()
    retrieval_count = serializers.IntegerField()
    last_retrieved_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(source="recorded_from", help_text="When the current version was recorded.")
    archived_at = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(
        allow_null=True, help_text="When the memory stopped being true because another one replaced it."
    )
    superseded_by = serializers.UUIDField(allow_null=True, help_text="The memory that replaced it.")
    embedding = EmbeddingOutput(source="*")
    links = OutgoingLinkOutput(many=True, source="current_links")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Build the answer from a row read `with_answer_parts`; add the retrievals that are not in its columns yet."""
        successor = (
            instance.current_successors[-1].source_id if instance.valid_to and instance.current_successors else None
        )
        instance.superseded_by = successor
        answer = super().to_representation(instance)
        answer["retrieval_count"] += instance.uncounted_retrievals or 0
        if instance.uncounted_retrieved_at:
            answer["last_retrieved_at"] = format_utc(instance.uncounted_retrieved_at)
        return answer


def answer_of_new_memory(row: NewMemory, result: StoreResult, ahead: VectorsAhead | None) -> dict[str, Any] | None:
    """Return the answer for a memory that was just stored, without reading it again (ADR-0170).

    None unless it is new, with one vector and no links, and the database returns its metadata in the same form.
    """
    memory = result.memory
    if memory is None or result.status != StoreStatus.CREATED or row.links or row.supersedes:
        return None
    if memory.embedding_state != Memory.EmbeddingState.READY or ahead is None or len(ahead.made) > 1:
        return None
    metadata, embedder = memory.metadata, ahead.made[0].embedder
    if not all(value is None or isinstance(value, str | bool | int) for value in metadata.values()):
        return None
    # the order of `jsonb`
    keys = sorted(metadata, key=lambda key: (len(key.encode()), key.encode()))
    memory.metadata = {key: metadata[key] for key in keys}
    read: Any = memory
    read.own_embeddings, read.current_links = [MemoryEmbedding(model=embedder.name, dimension=embedder.dimension)], []
    read.uncounted_retrievals = read.uncounted_retrieved_at = None
    answer: dict[str, Any] = cached_serializer(MemoryOutput).to_representation(read)
    return answer


#: The reason why an existing memory is returned.
STORED_REASONS = ("", "duplicate", "recalled")


class StoredMemoryOutput(MemoryOutput):
    """The response for a new memory."""

    status = serializers.ChoiceField(choices=["created", "updated", "existing"])
    reason = serializers.ChoiceField(choices=STORED_REASONS)


class MemoryVersionOutput(MemoryTextOutput):
    """One version with its two intervals; the end of an open one is null."""

    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(allow_null=True)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True)

    def to_representation(self, instance: Memory | MemoryVersion) -> dict[str, Any]:
        """Build the answer; for a memory from its current version, whose intervals end when it is archived."""
        answer = super().to_representation(instance)
        if isinstance(instance, Memory):
            answer["valid_to"] = format_utc(instance.valid_to or instance.archived_at)
            answer["recorded_to"] = format_utc(instance.archived_at)
        return answer


class FieldErrorOutput(serializers.Serializer[Any]):
    """One error of one field."""

    field = serializers.CharField(help_text='Dotted path, "" for the body as a whole.')
    code = serializers.CharField()
    detail = serializers.CharField()


class ProblemOutput(serializers.Serializer[Any]):
    """RFC 9457 problem details."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    errors = FieldErrorOutput(many=True)  # type: ignore[assignment]


class MemoryBulkResultOutput(serializers.Serializer[Any]):
    """The result of one row."""

    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["created", "updated", "existing", "invalid"])
    reason = serializers.ChoiceField(choices=STORED_REASONS)
    id = serializers.UUIDField(allow_null=True)
    errors = FieldErrorOutput(many=True)  # type: ignore[assignment]

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Return the values unchanged; most rows have no errors to convert."""
        return super().to_representation(instance) if instance["errors"] else {**instance, "errors": []}


class MemoryBulkOutput(serializers.Serializer[Any]):
    """One result per row, in their order."""

    results = MemoryBulkResultOutput(many=True)
