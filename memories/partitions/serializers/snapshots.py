"""Snapshots: requests and answers."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from memories.partitions.queries.changes import CHANGE_KINDS
from memories.store.serializers.answers import MemoryTextOutput
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import RuleCheckedField, StrictChoiceField, StrictDateTimeField, StrictTextField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

_NAME_CHARACTERS_MAX = 100
PRESENT_REFERENCE = "now"
UUID_CHARACTERS = 36
_NAME_PATTERN = r"\S(.*\S)?"


class SnapshotInput(StrictSerializer):
    """A name for a recorded time."""

    name = StrictTextField(
        max_length=_NAME_CHARACTERS_MAX,
        pattern=_NAME_PATTERN,
        pattern_code="bad_name",
        pattern_detail="The name is empty, holds a line break or has white space at one of its ends.",
    )
    recorded_at = StrictDateTimeField(
        is_over=True, required=False, allow_null=True, default=None, help_text="Absent: now. Not in the future."
    )


class SnapshotReferenceError(ValueError):
    """Neither `now` nor the id of a snapshot."""

    code = "not_a_choice"
    detail = "`now` or the id of a snapshot is needed."


def _now_or_id(value: Any) -> UUID | None:
    """The id, or None for now."""
    if value == PRESENT_REFERENCE:
        return None
    if not isinstance(value, str) or len(value) != UUID_CHARACTERS:
        raise SnapshotReferenceError
    try:
        return UUID(value)
    except ValueError as error:
        raise SnapshotReferenceError from error


class SnapshotComparisonInput(PageInput):
    """The query parameters of a comparison. Without `kind` each list starts from its beginning."""

    partition = path_field(help_text="Only this partition and all below it.")
    kind = StrictChoiceField(choices=CHANGE_KINDS, required=False, help_text="Only this list.")

    def get_fields(self) -> dict[str, Any]:
        """Add the parameter whose name is a Python keyword."""
        named = RuleCheckedField(
            rule=_now_or_id,
            shape={
                "type": "string",
                "default": PRESENT_REFERENCE,
                "description": "`now`, or the id of another snapshot.",
            },
            required=False,
            default=None,
        )
        return {**super().get_fields(), "with": named}


class SnapshotOutput(serializers.Serializer[Any]):
    """A named recorded time."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    recorded_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)


class PointInTimeOutput(serializers.Serializer[Any]):
    """One of the two compared times."""

    id = serializers.UUIDField(allow_null=True, help_text="Of the snapshot; null: now.")
    name = serializers.CharField()
    recorded_at = serializers.DateTimeField()


class ChangeCountsOutput(serializers.Serializer[Any]):
    """The number of memories of each kind, beyond the page too."""

    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    removed = serializers.IntegerField()


class MemoryChangeOutput(serializers.Serializer[Any]):
    """The text of a memory before and after; null where it was not live."""

    id = serializers.UUIDField(source="memory_id")
    before = MemoryTextOutput(allow_null=True)
    after = MemoryTextOutput(allow_null=True)


class SnapshotNextPagesOutput(serializers.Serializer[Any]):
    """The next page of each list; null on the last one."""

    added = serializers.URLField(allow_null=True)
    changed = serializers.URLField(allow_null=True)
    removed = serializers.URLField(allow_null=True)


class SnapshotComparisonOutput(serializers.Serializer[Any]):
    """The differences between two times: counts, and a page of each list in the order of ids."""

    before = PointInTimeOutput()
    after = PointInTimeOutput()
    counts = ChangeCountsOutput()
    added = MemoryChangeOutput(many=True)
    changed = MemoryChangeOutput(many=True)
    removed = MemoryChangeOutput(many=True)
    next = SnapshotNextPagesOutput()
