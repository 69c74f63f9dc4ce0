"""How the endpoint of roll-ups stands in the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers

from memories.partitions.api.partitions_schema import PLACE
from memories.partitions.serializers.partitions import SummaryStyleInput
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas


class RollUpOutput(serializers.Serializer[Any]):
    """A roll-up on its way."""

    event_id = serializers.UUIDField(help_text="`GET events/{id}` tells what came of it.")


roll_up_schema = extend_schema(
    operation_id="partitions_roll_up",
    tags=["partitions"],
    request=SummaryStyleInput,
    examples=[OpenApiExample("In short", {"style": "compact"}, request_only=True)],
    parameters=[PLACE, IDEMPOTENCY_KEY],
    responses=response_schemas({202: RollUpOutput}, 404, 409),
)
