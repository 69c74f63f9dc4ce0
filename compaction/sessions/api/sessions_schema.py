"""How the endpoints of sessions and messages stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from compaction.sessions.serializers.messages import (
    AppendAnswerShape,
    AppendShape,
    MessageChanges,
    MessagePageShape,
    MessageShape,
    MessagesInput,
)
from compaction.sessions.serializers.sessions import (
    SessionChanges,
    SessionInput,
    SessionPageShape,
    SessionShape,
    SessionsInput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, answers

TAGS = ["sessions"]
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
CHANGE = OpenApiExample("A smaller window", {"max_context_tokens": 16000}, request_only=True)
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
PIN = OpenApiExample("Pin", {"pinned": True}, request_only=True)

session_create_schema = extend_schema(
    operation_id="sessions_create",
    tags=TAGS,
    request=SessionInput,
    examples=[NEW_SESSION],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({201: SessionShape}, 409, 413),
)
sessions_schema = extend_schema(
    operation_id="sessions_list", tags=TAGS, parameters=[SessionsInput], responses=answers({200: SessionPageShape})
)
session_read_schema = extend_schema(
    operation_id="sessions_read", tags=TAGS, responses=answers({200: SessionShape}, 404)
)
session_patch_schema = extend_schema(
    operation_id="sessions_change",
    tags=TAGS,
    request=SessionChanges,
    examples=[CHANGE],
    responses=answers({200: SessionShape}, 404, 409, 413),
)
session_close_schema = extend_schema(operation_id="sessions_close", tags=TAGS, responses=answers({204: None}, 404))
session_restore_schema = extend_schema(
    operation_id="sessions_restore", tags=TAGS, request=None, responses=answers({200: SessionShape}, 404)
)
append_schema = extend_schema(
    operation_id="messages_append",
    tags=TAGS,
    request=AppendShape,
    examples=[TURNS],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({201: AppendAnswerShape, 200: AppendAnswerShape}, 404, 409, 413),
)
messages_schema = extend_schema(
    operation_id="messages_list",
    tags=TAGS,
    parameters=[MessagesInput],
    responses=answers({200: MessagePageShape}, 404),
)
message_read_schema = extend_schema(
    operation_id="messages_read", tags=TAGS, responses=answers({200: MessageShape}, 404)
)
message_patch_schema = extend_schema(
    operation_id="messages_change",
    tags=TAGS,
    request=MessageChanges,
    examples=[PIN],
    responses=answers({200: MessageShape}, 404, 409, 413),
)
expand_schema = extend_schema(
    operation_id="messages_expand",
    tags=TAGS,
    request=None,
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({200: MessageShape}, 404, 409),
)
