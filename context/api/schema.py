"""How the endpoints of contexts and search stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.serializers import (
    ContextInput,
    ContextShape,
    ReceiptInput,
    ReceiptPageShape,
    ReceiptShape,
    ReceiptsInput,
    SearchAnswerShape,
    SearchInput,
)
from memories.api.schema import IDEMPOTENCY_KEY, answers

SEARCH = OpenApiExample(
    "Recent preferences",
    {
        "query": "when does Alex like to meet?",
        "user_id": "alex",
        "filters": {"kind": {"in": ["preference", "fact"]}, "confidence": {"gte": 0.5}, "metadata.source": "chat"},
        "top_k": 5,
    },
    request_only=True,
)
CONTEXT = OpenApiExample(
    "For one question",
    {"query": "When did Sam move to Lisbon?", "partition": "conversation=7", "max_tokens": 1000},
    request_only=True,
)

search_schema = extend_schema(
    operation_id="memories_search",
    tags=["memories"],
    request=SearchInput,
    examples=[SEARCH],
    responses=answers({200: SearchAnswerShape}, 413),
)
context_schema = extend_schema(
    operation_id="context_create",
    tags=["context"],
    request=ContextInput,
    examples=[CONTEXT],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({200: ContextShape}, 404, 409, 413),
)
receipt_schema = extend_schema(
    operation_id="context_read",
    tags=["context"],
    parameters=[ReceiptInput],
    responses=answers({200: ReceiptShape}, 404),
)
receipts_schema = extend_schema(
    operation_id="contexts_list",
    tags=["context"],
    parameters=[ReceiptsInput],
    responses=answers({200: ReceiptPageShape}),
)
