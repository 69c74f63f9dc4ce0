"""Edges between memories: what agents send about them and what they get."""

from typing import Any

from rest_framework import serializers

from memories.models import MemoryLink
from memories.store.serializers.inputs import kind_field
from memory_platform.rest.fields import StrictUuidField, format_utc
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer


class NewLinkInput(StrictSerializer):
    """An edge from one memory to another."""

    source_id = StrictUuidField()
    target_id = StrictUuidField()
    kind = kind_field(required=False, default="related")


class LinkListInput(PageInput):
    """The query parameters of the list of edges."""

    source_id = StrictUuidField(required=False)
    target_id = StrictUuidField(required=False)
    kind = kind_field(required=False)


def serialize_link(row: MemoryLink) -> dict[str, Any]:
    """An edge."""
    return {
        "id": row.pk,
        "source_id": str(row.source_id),
        "target_id": str(row.target_id),
        "kind": row.kind,
        "recorded_from": format_utc(row.recorded_from),
    }


class LinkOutput(serializers.Serializer[Any]):
    """An edge between two memories."""

    id = serializers.IntegerField()
    source_id = serializers.UUIDField()
    target_id = serializers.UUIDField()
    kind = serializers.CharField()
    recorded_from = serializers.DateTimeField()


class LinkPageOutput(serializers.Serializer[Any]):
    """A page of edges, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = LinkOutput(many=True)
