"""How the endpoints of contexts and search stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.assembly.serializers.contexts import ContextInput, ContextOutput
from context.assembly.serializers.receipts import ReceiptInput, ReceiptListInput, ReceiptOutput, ReceiptPageOutput
from context.assembly.serializers.search import MemorySearchOutput, SearchInput
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

_SEARCH = OpenApiExample(
    "Recent preferences",
    {
        "query": "when does Alex like to meet?",
        "user_id": "alex",
        "filters": {"kind": {"in": ["preference", "fact"]}, "confidence": {"gte": 0.5}, "metadata.source": "chat"},
        "top_k": 5,
    },
    request_only=True,
)
_CONTEXT = OpenApiExample(
    "For one question",
    {"query": "When did Sam move to Lisbon?", "partition": "conversation=7", "max_tokens": 1000},
    request_only=True,
)

ABOUT = OpenApiExample(
    "About one memory, in short pieces, with what it links to",
    {
        "focus": {"memory_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11"},
        "query": "Why did Sam move?",
        "packer": "elastic",
        "summary_style": "compact",
        "include_linked_memories": True,
    },
    request_only=True,
)
_THEN = OpenApiExample(
    "As of a time, without storing anything",
    {"query": "Where does Sam live?", "as_of": "2026-05-08T00:00:00+02:00", "preview": True, "explain": True},
    request_only=True,
)
AGAIN = OpenApiExample(
    "Keeping the beginning of an earlier context, so that a provider's cache hits",
    {"query": "And where did Sam work?", "stable_with": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20"},
    request_only=True,
)

search_schema = extend_schema(
    operation_id="memories_search",
    tags=["memories"],
    request=SearchInput,
    examples=[_SEARCH],
    responses=response_schemas({200: MemorySearchOutput}, 413),
)
context_schema = extend_schema(
    operation_id="context_create",
    tags=["context"],
    request=ContextInput,
    examples=[_CONTEXT, ABOUT, _THEN, AGAIN],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: ContextOutput}, 404, 409, 413),
)
receipt_schema = extend_schema(
    operation_id="context_read",
    tags=["context"],
    parameters=[ReceiptInput],
    responses=response_schemas({200: ReceiptOutput}, 404),
)
receipts_schema = extend_schema(
    operation_id="contexts_list",
    tags=["context"],
    parameters=[ReceiptListInput],
    responses=response_schemas({200: ReceiptPageOutput}),
)
