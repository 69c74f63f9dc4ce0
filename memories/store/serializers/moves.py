"""Input and output of a move of many memories."""

from typing import Any

from rest_framework import serializers

from memories.services.store.bulk import BULK_MEMORIES_MAX, SKIP_REASONS
from memories.store.serializers.inputs import kind_field
from memories.tenancy.serializers.partitions import PATH_SHAPE, PartitionFilterInput, partition_path
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictDateTimeField,
    StrictListField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer


class MovedMemoriesFilter(PartitionFilterInput):
    """Which live memories to move."""

    kind = kind_field(required=False)
    pinned = StrictBooleanField(required=False)
    created_after = StrictDateTimeField(required=False, help_text="Inclusive.")
    created_before = StrictDateTimeField(required=False, help_text="Exclusive.")


class MemoryMoveInput(StrictSerializer):
    """Memories by id or by filter, and the partition they go to."""

    ids = StrictListField(child=StrictUuidField(), required=False, min_length=1, max_length=BULK_MEMORIES_MAX)
    filter = MovedMemoriesFilter(required=False)
    to = RuleCheckedField(rule=partition_path, shape=PATH_SHAPE, help_text='A path; "" is the root.')
    dry_run = StrictBooleanField(default=False, help_text="Count what would be moved without moving it.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one of `ids` and `filter`."""
        if ("ids" in attrs) == ("filter" in attrs):
            raise serializers.ValidationError("Send either ids or filter.", "one_of")
        return attrs


class MemoryMoveOutput(serializers.Serializer[Any]):
    """What a move did, or would do."""

    act_id = serializers.UUIDField(allow_null=True, help_text="For `POST acts/{act_id}/undo`; null for a dry run.")
    to = serializers.CharField(allow_blank=True)
    moved = serializers.IntegerField()
    skipped = serializers.DictField(
        child=serializers.IntegerField(), help_text=f"Number of skipped memories by reason: {', '.join(SKIP_REASONS)}."
    )
    has_more = serializers.BooleanField(
        help_text=f"More memories match than one action can change ({BULK_MEMORIES_MAX:,})."
    )
