"""Links between memories: requests and answers."""

from typing import Any

from rest_framework import serializers

from memories.store.serializers.inputs import kind_field
from memory_platform.rest.fields import StrictUuidField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer


class NewLinkInput(StrictSerializer):
    """A new link from one memory to another."""

    source_id = StrictUuidField()
    target_id = StrictUuidField()
    kind = kind_field(required=False, default="related")


class LinkListInput(PageInput):
    """The query parameters of the list of links."""

    source_id = StrictUuidField(required=False)
    target_id = StrictUuidField(required=False)
    kind = kind_field(required=False)


class LinkOutput(serializers.Serializer[Any]):
    """A link between two memories."""

    id = serializers.IntegerField()
    source_id = serializers.UUIDField()
    target_id = serializers.UUIDField()
    kind = serializers.CharField()
    recorded_from = serializers.DateTimeField()
