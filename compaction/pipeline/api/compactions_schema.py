"""How the endpoints of compactions and events stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, PolymorphicProxySerializer, extend_schema

from compaction.pipeline.serializers.compaction_shapes import (
    CompactionOutput,
    CompactionPageOutput,
    DryRunOutput,
    EventOutput,
    FinishedCompactionOutput,
    StartedRunOutput,
)
from compaction.pipeline.serializers.compactions import CompactionListInput, CompactSessionInput, ReviewInput
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

TAGS = ["compaction"]
DRY = OpenApiExample("What would be done", {"dry_run": True}, request_only=True)
WAIT = OpenApiExample("Do it now", {"wait": True}, request_only=True)
APPROVAL = OpenApiExample("Approve", {"action": "approve", "reason": "All there."}, request_only=True)
EDITING = OpenApiExample(
    "Edit", {"action": "edit", "text": "Alex moved to Lisbon on 3 May 2026.", "edit_version": 0}, request_only=True
)
MISSING = OpenApiExample("Append what is missing", {"action": "append_missing"}, request_only=True)
_BACK = OpenApiExample("Roll back", {"action": "rollback", "reason": "The dates are wrong."}, request_only=True)
_DONE = PolymorphicProxySerializer(
    component_name="CompactAnswer", serializers=[DryRunOutput, FinishedCompactionOutput], resource_type_field_name=None
)

compact_schema = extend_schema(
    operation_id="sessions_compact",
    tags=TAGS,
    request=CompactSessionInput,
    examples=[DRY, WAIT],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: _DONE, 202: StartedRunOutput}, 404, 409, 413),
)
session_compactions_schema = extend_schema(
    operation_id="sessions_compactions_list",
    tags=TAGS,
    parameters=[CompactionListInput],
    responses=response_schemas({200: CompactionPageOutput}, 404),
)
compactions_schema = extend_schema(
    operation_id="compactions_list",
    tags=TAGS,
    parameters=[CompactionListInput],
    responses=response_schemas({200: CompactionPageOutput}),
)
compaction_schema = extend_schema(
    operation_id="compactions_read", tags=TAGS, responses=response_schemas({200: CompactionOutput}, 404)
)
review_schema = extend_schema(
    operation_id="compactions_review",
    tags=TAGS,
    request=ReviewInput,
    examples=[APPROVAL, EDITING, MISSING, _BACK],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: CompactionOutput, 202: StartedRunOutput}, 404, 409, 413),
)
event_schema = extend_schema(operation_id="events_read", tags=TAGS, responses=response_schemas({200: EventOutput}, 404))
event_retry_schema = extend_schema(
    operation_id="events_retry",
    tags=TAGS,
    request=None,
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({202: EventOutput}, 404, 409),
)
