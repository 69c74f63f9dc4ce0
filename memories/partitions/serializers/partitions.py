"""Partitions, their summaries and the tenant memo: requests and answers."""

from typing import Any

from rest_framework import serializers

from memories.models import PartitionSummary, TenantMemo
from memories.services.store.content import MAX_CONTENT_BYTES, check_content, normalise_content
from memories.services.tokens import ENCODINGS
from memories.store.serializers.answers import TokenCountsOutput
from memories.store.serializers.inputs import content_field
from memories.tenancy.serializers.partitions import PartitionScopedInput, path_field
from memory_platform.rest.fields import RuleCheckedField, StrictBooleanField, StrictChoiceField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

_STYLES = tuple(PartitionSummary.Style.values)


def _content_or_nothing(value: Any) -> str:
    if isinstance(value, str) and not value.strip():
        return ""
    check_content(value)
    return normalise_content(value)


class PartitionInput(PartitionScopedInput):
    """A new partition."""


class PartitionListInput(PageInput):
    """The query parameters of the list of partitions."""

    partition = path_field(help_text="This partition and all below it.")


class PartitionAddress(StrictSerializer):
    """The partition in a URL, already percent-decoded once."""

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
    """The memo; an empty one removes it from contexts."""

    content = RuleCheckedField(
        rule=_content_or_nothing,
        shape={"type": "string", "maxLength": MAX_CONTENT_BYTES},
        help_text='At most 32 KiB; "" for none.',
    )


class PartitionOutput(serializers.Serializer[Any]):
    """A partition."""

    partition = serializers.CharField(source="path", help_text='Path; "" is the root.')
    depth = serializers.IntegerField()
    memory_count = serializers.IntegerField(help_text="Live memories in it, without those below.")
    summary_styles = serializers.ListField(child=serializers.CharField())


class PartitionSummaryOutput(serializers.Serializer[Any]):
    """One version of a partition's summary; `id` is stable through its versions."""

    id = serializers.UUIDField(source="summary_id")
    partition = serializers.CharField(source="partition.path")
    style = serializers.ChoiceField(choices=_STYLES)  # type: ignore[assignment]
    version = serializers.IntegerField()
    content = serializers.CharField()
    token_counts = TokenCountsOutput()
    origin = serializers.ChoiceField(choices=PartitionSummary.Origin.values)
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while current.")


#: The memo of a tenant that never set one.
NO_MEMO = TenantMemo(content="", version=0, **{f"tokens_{encoding}": 0 for encoding in ENCODINGS})


class TenantMemoOutput(serializers.Serializer[Any]):
    """The tenant's memo."""

    content = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField(help_text="0: none was ever set.")
    token_counts = TokenCountsOutput()
    recorded_from = serializers.DateTimeField(allow_null=True)
