"""How the endpoints of feedback stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.feedback.serializers import (
    AnswerUsageOutput,
    FeedbackInput,
    FeedbackListInput,
    FeedbackPageOutput,
    OutcomeInput,
    RecordedVotesOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

VOTE = OpenApiExample(
    "On one memory",
    {
        "memory_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11",
        "feedback": "NEGATIVE",
        "reason": "Alex moved away from Lisbon.",
    },
    request_only=True,
)
_VOTES = OpenApiExample(
    "On all memories of a context",
    {"context_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20", "feedback": "POSITIVE"},
    request_only=True,
)
OUTCOME = OpenApiExample(
    "What the model said", {"answer": "Sam moved to Lisbon in May and lives in a small flat."}, request_only=True
)

feedback_schema = extend_schema(
    operation_id="feedback_create",
    tags=["feedback"],
    request=FeedbackInput,
    examples=[VOTE, _VOTES],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: RecordedVotesOutput, 200: RecordedVotesOutput}, 404, 409, 413),
)
withdraw_schema = extend_schema(
    operation_id="feedback_withdraw", tags=["feedback"], responses=response_schemas({204: None}, 404)
)
feedback_list_schema = extend_schema(
    operation_id="feedback_of_memory",
    tags=["feedback"],
    parameters=[FeedbackListInput],
    responses=response_schemas({200: FeedbackPageOutput}, 404),
)
outcome_schema = extend_schema(
    operation_id="context_outcome",
    tags=["feedback"],
    request=OutcomeInput,
    examples=[OUTCOME],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: AnswerUsageOutput}, 404, 409, 413),
)
