"""Partitions, their summaries and the memo: what agents send about them and what they get."""

from typing import Any

from rest_framework import serializers

from memories.models import Partition, PartitionSummary, TenantMemo
from memories.services.store.content import MAX_CONTENT_BYTES, check_content, normalise_content
from memories.services.tokens import ENCODINGS
from memories.store.serializers.answers import TokenCountsOutput
from memories.store.serializers.inputs import content_field
from memories.tenancy.serializers.partitions import PartitionScopedInput, path_field
from memory_platform.rest.fields import RuleCheckedField, StrictBooleanField, StrictChoiceField, format_utc
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

_STYLES = tuple(PartitionSummary.Style.values)


def _content_or_nothing(value: Any) -> str:
    if isinstance(value, str) and not value.strip():
        return ""
    check_content(value)
    return normalise_content(value)


class PartitionInput(PartitionScopedInput):
    """A partition to make."""


class PartitionListInput(PageInput):
    """The query parameters of the list of partitions."""

    partition = path_field(help_text="This partition and all below it.")


class PartitionAddress(StrictSerializer):
    """The partition in an address, already decoded once."""

    partition = path_field()


class SummaryInput(StrictSerializer):
    """The text of a partition's summary in one style."""

    content = content_field()
    style = StrictChoiceField(choices=_STYLES, required=False, default=_STYLES[0])  # type: ignore[assignment]


class SummaryListInput(PageInput):
    """The query parameters of the summaries of a partition."""

    style = StrictChoiceField(choices=_STYLES, required=False)  # type: ignore[assignment]
    versions = StrictBooleanField(required=False, default=False, takes_text=True, help_text="Superseded versions too.")


class SummaryStyleInput(StrictSerializer):
    """Which summary of a partition is meant."""

    style = StrictChoiceField(choices=_STYLES, required=False, default=_STYLES[0])  # type: ignore[assignment]


class MemoInput(StrictSerializer):
    """The memo; an empty one takes it out of contexts."""

    content = RuleCheckedField(
        rule=_content_or_nothing,
        shape={"type": "string", "maxLength": MAX_CONTENT_BYTES},
        help_text='At most 32 KiB; "" for none.',
    )


def serialize_partition(row: Partition) -> dict[str, Any]:
    """A partition; the row was read `with_contents`."""
    return {
        "partition": row.path,
        "depth": row.depth,
        "memory_count": row.memory_count,  # type: ignore[attr-defined]
        "summary_styles": row.summary_styles,  # type: ignore[attr-defined]
    }


def serialize_summary(row: PartitionSummary, path: str) -> dict[str, Any]:
    """One version of a summary."""
    return {
        "id": str(row.summary_id),
        "partition": path,
        "style": row.style,
        "version": row.version,
        "content": row.content,
        "token_counts": row.token_counts,
        "origin": row.origin,
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
    }


def serialize_memo(row: TenantMemo | None) -> dict[str, Any]:
    """The memo; version 0 and no text where none was ever set."""
    return {
        "content": row.content if row else "",
        "version": row.version if row else 0,
        "token_counts": row.token_counts if row else dict.fromkeys(ENCODINGS, 0),
        "recorded_from": format_utc(row.recorded_from) if row else None,
    }


class PartitionOutput(serializers.Serializer[Any]):
    """A partition."""

    partition = serializers.CharField(help_text='Path; "" is the root.')
    depth = serializers.IntegerField()
    memory_count = serializers.IntegerField(help_text="Live memories in it, those below not counted.")
    summary_styles = serializers.ListField(child=serializers.CharField())


class PartitionPageOutput(serializers.Serializer[Any]):
    """A page of partitions, in the order of their paths."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = PartitionOutput(many=True)


class PartitionSummaryOutput(serializers.Serializer[Any]):
    """One version of a partition's summary; `id` is stable through its versions."""

    id = serializers.UUIDField()
    partition = serializers.CharField()
    style = serializers.ChoiceField(choices=_STYLES)  # type: ignore[assignment]
    version = serializers.IntegerField()
    content = serializers.CharField()
    token_counts = TokenCountsOutput()
    origin = serializers.ChoiceField(choices=PartitionSummary.Origin.values)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while current.")


class PartitionSummaryPageOutput(serializers.Serializer[Any]):
    """A page of summaries, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = PartitionSummaryOutput(many=True)


class TenantMemoOutput(serializers.Serializer[Any]):
    """The tenant's memo."""

    content = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField(help_text="0: none was ever set.")
    token_counts = TokenCountsOutput()
    recorded_from = serializers.DateTimeField(allow_null=True)
