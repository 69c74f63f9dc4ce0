"""Partitions, their summaries and the memo: what agents send about them and what they get."""

from typing import Any

from rest_framework import serializers

from memories.models import Partition, PartitionSummary, TenantMemo
from memories.services.store.content import MAX_CONTENT_BYTES, check_content, normalise_content
from memories.services.tokens import ENCODINGS
from memories.store.serializers.answers import TokenCountsShape, moment
from memories.store.serializers.inputs import content_field
from memories.tenancy.serializers.partitions import PlacedInput, path_field
from memory_platform.rest.fields import CheckedField, ChosenField, TruthField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

STYLES = tuple(PartitionSummary.Style.values)


def _content_or_nothing(value: Any) -> str:
    if isinstance(value, str) and not value.strip():
        return ""
    check_content(value)
    return normalise_content(value)


class PartitionInput(PlacedInput):
    """A partition to make."""


class PartitionsInput(PageInput):
    """The query parameters of the list of partitions."""

    partition = path_field(help_text="This partition and all below it.")


class PartitionAddress(StrictSerializer):
    """The partition in an address, already decoded once."""

    partition = path_field()


class SummaryInput(StrictSerializer):
    """The text of a partition's summary in one style."""

    content = content_field()
    style = ChosenField(choices=STYLES, required=False, default=STYLES[0])  # type: ignore[assignment]


class SummariesInput(PageInput):
    """The query parameters of the summaries of a partition."""

    style = ChosenField(choices=STYLES, required=False)  # type: ignore[assignment]
    versions = TruthField(required=False, default=False, takes_text=True, help_text="Superseded versions too.")


class SummaryStyleInput(StrictSerializer):
    """Which summary of a partition is meant."""

    style = ChosenField(choices=STYLES, required=False, default=STYLES[0])  # type: ignore[assignment]


class MemoInput(StrictSerializer):
    """The memo; an empty one takes it out of contexts."""

    content = CheckedField(
        rule=_content_or_nothing,
        shape={"type": "string", "maxLength": MAX_CONTENT_BYTES},
        help_text='At most 32 KiB; "" for none.',
    )


def partition_answer(row: Partition) -> dict[str, Any]:
    """A partition; the row was read `with_contents`."""
    return {
        "partition": row.path,
        "depth": row.depth,
        "memory_count": row.memory_count,  # type: ignore[attr-defined]
        "summary_styles": row.summary_styles,  # type: ignore[attr-defined]
    }


def summary_answer(row: PartitionSummary, path: str) -> dict[str, Any]:
    """One version of a summary."""
    return {
        "id": str(row.summary_id),
        "partition": path,
        "style": row.style,
        "version": row.version,
        "content": row.content,
        "token_counts": row.token_counts,
        "origin": row.origin,
        "recorded_from": moment(row.recorded_from),
        "recorded_to": moment(row.recorded_to),
    }


def memo_answer(row: TenantMemo | None) -> dict[str, Any]:
    """The memo; version 0 and no text where none was ever set."""
    return {
        "content": row.content if row else "",
        "version": row.version if row else 0,
        "token_counts": row.token_counts if row else dict.fromkeys(ENCODINGS, 0),
        "recorded_from": moment(row.recorded_from) if row else None,
    }


class PartitionShape(serializers.Serializer[Any]):
    """A partition."""

    partition = serializers.CharField(help_text='Path; "" is the root.')
    depth = serializers.IntegerField()
    memory_count = serializers.IntegerField(help_text="Live memories in it, those below not counted.")
    summary_styles = serializers.ListField(child=serializers.CharField())


class PartitionPageShape(serializers.Serializer[Any]):
    """A page of partitions, in the order of their paths."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = PartitionShape(many=True)


class SummaryShape(serializers.Serializer[Any]):
    """One version of a partition's summary; `id` is stable through its versions."""

    id = serializers.UUIDField()
    partition = serializers.CharField()
    style = serializers.ChoiceField(choices=STYLES)  # type: ignore[assignment]
    version = serializers.IntegerField()
    content = serializers.CharField()
    token_counts = TokenCountsShape()
    origin = serializers.ChoiceField(choices=PartitionSummary.Origin.values)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while current.")


class SummaryPageShape(serializers.Serializer[Any]):
    """A page of summaries, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = SummaryShape(many=True)


class MemoShape(serializers.Serializer[Any]):
    """The tenant's memo."""

    content = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField(help_text="0: none was ever set.")
    token_counts = TokenCountsShape()
    recorded_from = serializers.DateTimeField(allow_null=True)
