"""What agents get: memories and versions as plain JSON values. The `...Shape` classes say the same to the schema."""

import hashlib
import json
from typing import Any

from rest_framework import serializers

from memories.models import Memory, MemoryVersion
from memories.models.memory import MemoryText
from memory_platform.rest.fields import format_utc

ETAG_DIGEST_CHARACTERS = 16


def serialize_memory_text(row: MemoryText) -> dict[str, Any]:
    """What makes up one version."""
    return {
        "content": row.content,
        "kind": row.kind,
        "partition": row.partition_path,
        "confidence": row.confidence,
        "pinned": row.pinned,
        "metadata": row.metadata,
        "created_at": format_utc(row.created_at),
        "expires_at": format_utc(row.expires_at),
        "source_id": row.source_id,
        "session": row.session,
        "position": row.position,
        "token_counts": row.token_counts,
        "version": row.version,
    }


def serialize_memory(memory: Memory) -> dict[str, Any]:
    """All fields but the vector. The row was read `with_answer_parts`."""
    return {
        "id": str(memory.pk),
        **serialize_memory_text(memory),
        "usefulness_score": memory.usefulness_score,
        "retrieval_count": memory.retrieval_count + (memory.uncounted_retrievals or 0),  # type: ignore[attr-defined]
        "last_retrieved_at": format_utc(memory.uncounted_retrieved_at or memory.last_retrieved_at),  # type: ignore[attr-defined]
        "updated_at": format_utc(memory.recorded_from),
        "archived_at": format_utc(memory.archived_at),
        "embedding": _embedding_answer(memory),
        "links": [{"target_id": str(link.target_id), "kind": link.kind} for link in memory.current_links],  # type: ignore[attr-defined]
    }


def _embedding_answer(memory: Memory) -> dict[str, Any]:
    own = memory.own_embeddings[0] if memory.own_embeddings else None  # type: ignore[attr-defined]
    return {
        "state": memory.embedding_state,
        "model": own.model if own else None,
        "dimension": own.dimension if own else None,
    }


def memory_etag(answer: dict[str, Any]) -> str:
    """Version, then a digest of the whole answer: a change compares the version, a conditional GET all of it."""
    digest = hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:ETAG_DIGEST_CHARACTERS]
    return f'"{answer["version"]}.{digest}"'


def serialize_current_version(memory: Memory) -> dict[str, Any]:
    """The current version as a row of the history; archiving ended both its intervals."""
    return {
        **serialize_memory_text(memory),
        "valid_from": format_utc(memory.valid_from),
        "valid_to": format_utc(memory.archived_at),
        "recorded_from": format_utc(memory.recorded_from),
        "recorded_to": format_utc(memory.archived_at),
    }


def serialize_version(row: MemoryVersion) -> dict[str, Any]:
    """A superseded version as a row of the history."""
    return {
        **serialize_memory_text(row),
        "valid_from": format_utc(row.valid_from),
        "valid_to": format_utc(row.valid_to),
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
    }


class EmbeddingOutput(serializers.Serializer[Any]):
    """Which vector a memory has; model and dimension are null until it has one."""

    state = serializers.ChoiceField(choices=Memory.EmbeddingState.choices)
    model = serializers.CharField(allow_null=True)
    dimension = serializers.IntegerField(allow_null=True)


class OutgoingLinkOutput(serializers.Serializer[Any]):
    """An outgoing edge."""

    target_id = serializers.UUIDField()
    kind = serializers.CharField()


class TokenCountsOutput(serializers.Serializer[Any]):
    """Tokens of the content by encoding."""

    o200k_base = serializers.IntegerField()
    cl100k_base = serializers.IntegerField()


class MemoryTextOutput(serializers.Serializer[Any]):
    """What makes up one version."""

    content = serializers.CharField()
    kind = serializers.CharField()
    partition = serializers.CharField(help_text='Path; "" is the root.')
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
    updated_at = serializers.DateTimeField(help_text="When the current version was recorded.")
    archived_at = serializers.DateTimeField(allow_null=True)
    embedding = EmbeddingOutput()
    links = OutgoingLinkOutput(many=True)


class StoredMemoryOutput(MemoryOutput):
    """The answer to a new memory."""

    status = serializers.ChoiceField(choices=["created", "existing"])
    reason = serializers.ChoiceField(choices=["", "duplicate", "recalled"])


class MemoryVersionOutput(MemoryTextOutput):
    """One version with its two intervals; the end of an open one is null."""

    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(allow_null=True)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True)


class FieldErrorOutput(serializers.Serializer[Any]):
    """One fault of one field."""

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
    """What became of one row."""

    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["created", "existing", "invalid"])
    id = serializers.UUIDField(allow_null=True)
    errors = FieldErrorOutput(many=True)  # type: ignore[assignment]


class MemoryBulkOutput(serializers.Serializer[Any]):
    """One result per row, in their order."""

    results = MemoryBulkResultOutput(many=True)


class MemoryPageOutput(serializers.Serializer[Any]):
    """A page of memories."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = MemoryOutput(many=True)


class MemoryVersionPageOutput(serializers.Serializer[Any]):
    """A page of versions, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = MemoryVersionOutput(many=True)
