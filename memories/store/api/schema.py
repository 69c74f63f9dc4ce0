"""How the endpoints of memories stand in the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from memories.store.serializers.answers import (
    MemoryBulkOutput,
    MemoryOutput,
    MemoryPageOutput,
    MemoryVersionPageOutput,
    ProblemOutput,
    StoredMemoryOutput,
)
from memories.store.serializers.inputs import MemoryBulkInputSchema, MemoryChanges, MemoryInput, MemoryListInput
from memory_platform.rest.pages import PageInput

PROBLEM = "application/problem+json"
_REASONS = {
    400: "Not valid; `errors` names the fields.",
    401: "No key, or one that is unknown, revoked or expired.",
    403: "The key lacks the scope, or does not reach the partition.",
    404: "Absent, or another tenant's.",
    409: "The state does not allow it.",
    412: "`If-Match` names another version.",
    413: "The body is larger than 8 MiB.",
    429: "Too many requests; see `Retry-After`.",
}
ALWAYS = (400, 401, 403, 429)

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The same key with the same body gets the first answer again, for 24 hours.",
)
IF_MATCH = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The `ETag` of the version to change."
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The `ETag` the client already holds."
)


def response_schemas(good: Mapping[int, Any], *problems: int) -> dict[Any, Any]:
    """The answers of an endpoint: its own and the problems that all have."""
    refused = {
        (status, PROBLEM): OpenApiResponse(ProblemOutput, description=_REASONS[status])
        for status in sorted({*ALWAYS, *problems})
    }
    return {**{(status, "application/json") if shape else status: shape for status, shape in good.items()}, **refused}


NEW_MEMORY = OpenApiExample(
    "A preference",
    {"content": "Alex prefers meetings before noon.", "kind": "preference", "user_id": "alex", "confidence": 0.9},
    request_only=True,
)
_BULK = OpenApiExample(
    "Two turns",
    {
        "memories": [
            {"content": "Alex: I moved to Lisbon.", "partition": "conversation=7", "session": "s1", "position": 0},
            {"content": "Sam: How do you like it?", "partition": "conversation=7", "session": "s1", "position": 1},
        ]
    },
    request_only=True,
)
_CHANGE = OpenApiExample("Another confidence", {"confidence": 0.4}, request_only=True)

create_memory_schema = extend_schema(
    operation_id="memories_create",
    tags=["memories"],
    request=MemoryInput,
    examples=[NEW_MEMORY],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: StoredMemoryOutput, 200: StoredMemoryOutput}, 409, 413),
)
bulk_schema = extend_schema(
    operation_id="memories_bulk",
    tags=["memories"],
    request=MemoryBulkInputSchema,
    examples=[_BULK],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: MemoryBulkOutput}, 409, 413),
)
list_schema = extend_schema(
    operation_id="memories_list",
    tags=["memories"],
    parameters=[MemoryListInput],
    responses=response_schemas({200: MemoryPageOutput}),
)
read_memory_schema = extend_schema(
    operation_id="memories_read",
    tags=["memories"],
    parameters=[IF_NONE_MATCH],
    responses=response_schemas({200: MemoryOutput, 304: None}, 404),
)
patch_schema = extend_schema(
    operation_id="memories_change",
    tags=["memories"],
    request=MemoryChanges,
    examples=[_CHANGE],
    parameters=[IF_MATCH],
    responses=response_schemas({200: MemoryOutput}, 404, 409, 412, 413),
)
delete_schema = extend_schema(
    operation_id="memories_archive",
    tags=["memories"],
    parameters=[IF_MATCH],
    responses=response_schemas({204: None}, 404, 412),
)
restore_schema = extend_schema(
    operation_id="memories_restore",
    tags=["memories"],
    request=None,
    parameters=[IF_MATCH],
    responses=response_schemas({200: MemoryOutput}, 404, 409, 412),
)
history_schema = extend_schema(
    operation_id="memories_history",
    tags=["memories"],
    parameters=[PageInput],
    responses=response_schemas({200: MemoryVersionPageOutput}, 404),
)
