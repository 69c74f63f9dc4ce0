"""Chat messages as memories: one memory for each message of a person or an assistant."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import check_content
from memories.services.store.drafts import MAX_LABEL_CHARACTERS, MAX_POSITION, NewMemory
from memories.services.store.message_parts import PARTS, content_text
from memories.store.serializers.answers import STORED_REASONS, FieldErrorOutput
from memories.store.serializers.inputs import kind_field, metadata_field, version_condition_field, versions_allowed
from memories.tenancy.serializers.partitions import PartitionScopedInput
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictTextField,
)
from memory_platform.rest.serializers import StrictSerializer

MESSAGES_MAX = 500
SPEAKER_CHARACTERS_MAX = 128
MESSAGE_MEMORY_KIND = "episode"
#: The roles of instructions and tool outputs, whose messages do not become memories.
_SKIPPED_ROLES = ("system", "developer", "tool")
_ROLES = ("user", "assistant", *_SKIPPED_ROLES)
#: Reasons for which a message is skipped: its role, or no text.
_SKIPPED_ROLE, _SKIPPED_EMPTY = "role", "empty"
_PART = {"type": "object", "properties": {"type": {"type": "string", "enum": list(PARTS)}}, "required": ["type"]}
MESSAGE_CONTENT_SCHEMA = {"oneOf": [{"type": "string"}, {"type": "array", "items": _PART}]}


def _message_text(value: Any) -> str:
    text = content_text(value)
    if isinstance(text, str) and not text.strip():
        return ""
    return check_content(text)  # type: ignore[arg-type]


@extend_schema_field(OpenApiTypes.ANY)
class IgnoredField(StrictField):
    """A field of the chat-completions format that a memory does not have."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class MemoryMessageInput(StrictSerializer):
    """One message in the chat-completions format."""

    role = StrictChoiceField(choices=_ROLES, help_text=f"Not stored: {', '.join(_SKIPPED_ROLES)}.")
    content = RuleCheckedField(
        rule=_message_text, shape=MESSAGE_CONTENT_SCHEMA, allow_null=True, default="", help_text="A text or parts."
    )
    name = StrictTextField(max_length=SPEAKER_CHARACTERS_MAX, allow_null=True, default="")
    source_id = StrictTextField(max_length=MAX_LABEL_CHARACTERS, default="")
    if_version = version_condition_field()
    created_at = StrictDateTimeField(is_past=True, allow_null=True, default=None)
    tool_calls = IgnoredField(required=False, allow_null=True)
    tool_call_id = IgnoredField(required=False, allow_null=True)


class MemoryMessagesInput(PartitionScopedInput):
    """Messages of one conversation, and the fields that their memories share."""

    messages = StrictListField(child=MemoryMessageInput(), min_length=1, max_length=MESSAGES_MAX)
    session = StrictTextField(max_length=MAX_LABEL_CHARACTERS, default="")
    position = StrictIntegerField(
        maximum=MAX_POSITION - MESSAGES_MAX,
        allow_null=True,
        default=None,
        help_text="Position of the first message; the others follow. Default: 0 with a session, otherwise none.",
    )
    kind = kind_field(default=MESSAGE_MEMORY_KIND)
    confidence = StrictNumberField(minimum=0, maximum=1, default=0.8)
    pinned = StrictBooleanField(default=False)
    metadata = metadata_field(default=dict)
    created_at = StrictDateTimeField(is_past=True, allow_null=True, default=None)
    expires_at = StrictDateTimeField(allow_null=True, default=None)


def message_memories(values: dict[str, Any], partition: PartitionPath) -> Iterator[NewMemory | str]:
    """Yield the memory of each message, or the reason why it is skipped."""
    shared = ("kind", "confidence", "pinned", "created_at", "expires_at", "session")
    base = NewMemory(content="", partition=partition, **{name: values[name] for name in shared})
    first = 0 if values["position"] is None and values["session"] else values["position"]
    for index, message in enumerate(values["messages"]):
        text = message["content"] or ""
        is_role_skipped = message["role"] in _SKIPPED_ROLES
        if is_role_skipped or not text:
            yield _SKIPPED_ROLE if is_role_skipped else _SKIPPED_EMPTY
            continue
        speaker = message["name"] or ""
        metadata = {**values["metadata"], "role": message["role"], **({"speaker": speaker} if speaker else {})}
        yield replace(
            base,
            content=f"{speaker}: {text}" if speaker else text,
            metadata=metadata,
            source_id=message["source_id"],
            if_versions=versions_allowed(message["if_version"]),
            created_at=message["created_at"] or base.created_at,
            position=None if first is None else first + index,
            given=frozenset({"metadata", "position", "session"}),
        )


class MessageMemoryResultOutput(serializers.Serializer[Any]):
    """The result of one message."""

    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["created", "updated", "existing", "skipped", "invalid"])
    reason = serializers.ChoiceField(choices=(*STORED_REASONS, _SKIPPED_ROLE, _SKIPPED_EMPTY))
    id = serializers.UUIDField(allow_null=True)
    errors = FieldErrorOutput(many=True)  # type: ignore[assignment]


class MessageMemoriesOutput(serializers.Serializer[Any]):
    """One result per message, in their order."""

    results = MessageMemoryResultOutput(many=True)
