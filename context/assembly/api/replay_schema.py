"""How the endpoints of contexts again stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.assembly.serializers.receipts import ReceiptOutput
from context.assembly.serializers.replay import DiffInput, DiffOutput, ReplayInput
from memories.store.api.schema import response_schemas

REPLAY = OpenApiExample("As it was given", {"mode": "recorded"}, request_only=True)
SINCE_CONTEXT = OpenApiExample(
    "Since an earlier context",
    {
        "query": "Where does Sam live?",
        "partition": "user=sam",
        "since": {"context_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20"},
    },
    request_only=True,
)
SINCE_SNAPSHOT = OpenApiExample(
    "Since a snapshot",
    {"focus": {"partition": "user=sam"}, "since": {"snapshot": "before the import"}},
    request_only=True,
)
PROFILES = OpenApiExample(
    "Two budget profiles on one query",
    {"query": "Where does Sam live?", "profiles": ["default", "chat"]},
    request_only=True,
)

replay_schema = extend_schema(
    operation_id="context_replay",
    tags=["context"],
    request=ReplayInput,
    examples=[REPLAY],
    responses=response_schemas({200: ReceiptOutput}, 404, 413),
)
diff_schema = extend_schema(
    operation_id="context_diff",
    tags=["context"],
    request=DiffInput,
    examples=[SINCE_CONTEXT, SINCE_SNAPSHOT, PROFILES],
    responses=response_schemas({200: DiffOutput}, 404, 413),
)
