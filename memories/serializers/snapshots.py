"""Snapshots: what admins send about them and what agents get."""

from typing import Any

from rest_framework import serializers

from memories.models import Snapshot
from memories.serializers.answers import moment
from memory_platform.rest.fields import MomentField, TextField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.strict import StrictSerializer

NAME_CHARACTERS_MAX = 100
NAME_PATTERN = r"\S(.*\S)?"


class SnapshotInput(StrictSerializer):
    """A name for a recorded time."""

    name = TextField(max_length=NAME_CHARACTERS_MAX, pattern=NAME_PATTERN, pattern_code="bad_name")
    recorded_at = MomentField(
        is_over=True, required=False, allow_null=True, default=None, help_text="Absent: now. Not in the future."
    )


class SnapshotsInput(PageInput):
    """The query parameters of the list of snapshots."""


def snapshot_answer(row: Snapshot) -> dict[str, Any]:
    """A snapshot."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "recorded_at": moment(row.recorded_at),
        "created_at": moment(row.created_at),
        "created_by": row.created_by,
    }


class SnapshotShape(serializers.Serializer[Any]):
    """A named recorded time."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    recorded_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)


class SnapshotPageShape(serializers.Serializer[Any]):
    """A page of snapshots, the latest recorded time first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = SnapshotShape(many=True)
