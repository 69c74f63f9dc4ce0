"""How the endpoints of sessions and messages stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from compaction.sessions.serializers.messages import (
    MessageAppendInputSchema,
    MessageAppendOutput,
    MessageChanges,
    MessageListInput,
    MessageOutput,
    MessagePageOutput,
)
from compaction.sessions.serializers.sessions import (
    SessionChanges,
    SessionInput,
    SessionListInput,
    SessionOutput,
    SessionPageOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

_TAGS = ["sessions"]
NEW_SESSION = OpenApiExample(
    "A support agent's session",
    {
        "model": "gpt-4o",
        "max_context_tokens": 32000,
        "directive": "You help Alex plan meetings.",
        "user_id": "alex",
        "metadata": {"channel": "chat"},
    },
    request_only=True,
)
_CHANGE = OpenApiExample("A smaller window", {"max_context_tokens": 16000}, request_only=True)
TURNS = OpenApiExample(
    "A question, a tool call and its result",
    {
        "messages": [
            {"role": "user", "content": "What is on for tomorrow?", "source_id": "turn-1"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "calendar", "arguments": '{"day": "2026-05-09"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "name": "calendar", "content": "10:00 dentist"},
        ]
    },
    request_only=True,
)
_PIN = OpenApiExample("Pin", {"pinned": True}, request_only=True)

session_create_schema = extend_schema(
    operation_id="sessions_create",
    tags=_TAGS,
    request=SessionInput,
    examples=[NEW_SESSION],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: SessionOutput}, 409, 413),
)
sessions_schema = extend_schema(
    operation_id="sessions_list",
    tags=_TAGS,
    parameters=[SessionListInput],
    responses=response_schemas({200: SessionPageOutput}),
)
session_read_schema = extend_schema(
    operation_id="sessions_read", tags=_TAGS, responses=response_schemas({200: SessionOutput}, 404)
)
session_patch_schema = extend_schema(
    operation_id="sessions_change",
    tags=_TAGS,
    request=SessionChanges,
    examples=[_CHANGE],
    responses=response_schemas({200: SessionOutput}, 404, 409, 413),
)
session_close_schema = extend_schema(
    operation_id="sessions_close", tags=_TAGS, responses=response_schemas({204: None}, 404)
)
session_restore_schema = extend_schema(
    operation_id="sessions_restore", tags=_TAGS, request=None, responses=response_schemas({200: SessionOutput}, 404)
)
append_schema = extend_schema(
    operation_id="messages_append",
    tags=_TAGS,
    request=MessageAppendInputSchema,
    examples=[TURNS],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: MessageAppendOutput, 200: MessageAppendOutput}, 404, 409, 413),
)
messages_schema = extend_schema(
    operation_id="messages_list",
    tags=_TAGS,
    parameters=[MessageListInput],
    responses=response_schemas({200: MessagePageOutput}, 404),
)
message_read_schema = extend_schema(
    operation_id="messages_read", tags=_TAGS, responses=response_schemas({200: MessageOutput}, 404)
)
message_patch_schema = extend_schema(
    operation_id="messages_change",
    tags=_TAGS,
    request=MessageChanges,
    examples=[_PIN],
    responses=response_schemas({200: MessageOutput}, 404, 409, 413),
)
expand_schema = extend_schema(
    operation_id="messages_expand",
    tags=_TAGS,
    request=None,
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: MessageOutput}, 404, 409),
)
