"""How the endpoints of compactions and events stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, PolymorphicProxySerializer, extend_schema

from compaction.pipeline.serializers.compaction_shapes import (
    CompactedShape,
    CompactionPageShape,
    CompactionShape,
    DryRunShape,
    EventShape,
    StartedShape,
)
from compaction.pipeline.serializers.compactions import CompactInput, CompactionsInput, ReviewInput
from memories.store.api.schema import IDEMPOTENCY_KEY, answers

TAGS = ["compaction"]
DRY = OpenApiExample("What would be done", {"dry_run": True}, request_only=True)
WAIT = OpenApiExample("Do it now", {"wait": True}, request_only=True)
APPROVAL = OpenApiExample("Approve", {"action": "approve", "reason": "All there."}, request_only=True)
EDITING = OpenApiExample(
    "Edit", {"action": "edit", "text": "Alex moved to Lisbon on 3 May 2026.", "edit_version": 0}, request_only=True
)
MISSING = OpenApiExample("Append what is missing", {"action": "append_missing"}, request_only=True)
BACK = OpenApiExample("Roll back", {"action": "rollback", "reason": "The dates are wrong."}, request_only=True)
DONE = PolymorphicProxySerializer(
    component_name="CompactAnswer", serializers=[DryRunShape, CompactedShape], resource_type_field_name=None
)

compact_schema = extend_schema(
    operation_id="sessions_compact",
    tags=TAGS,
    request=CompactInput,
    examples=[DRY, WAIT],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({200: DONE, 202: StartedShape}, 404, 409, 413),
)
session_compactions_schema = extend_schema(
    operation_id="sessions_compactions_list",
    tags=TAGS,
    parameters=[CompactionsInput],
    responses=answers({200: CompactionPageShape}, 404),
)
compactions_schema = extend_schema(
    operation_id="compactions_list",
    tags=TAGS,
    parameters=[CompactionsInput],
    responses=answers({200: CompactionPageShape}),
)
compaction_schema = extend_schema(
    operation_id="compactions_read", tags=TAGS, responses=answers({200: CompactionShape}, 404)
)
review_schema = extend_schema(
    operation_id="compactions_review",
    tags=TAGS,
    request=ReviewInput,
    examples=[APPROVAL, EDITING, MISSING, BACK],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({200: CompactionShape, 202: StartedShape}, 404, 409, 413),
)
event_schema = extend_schema(operation_id="events_read", tags=TAGS, responses=answers({200: EventShape}, 404))
event_retry_schema = extend_schema(
    operation_id="events_retry",
    tags=TAGS,
    request=None,
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({202: EventShape}, 404, 409),
)
