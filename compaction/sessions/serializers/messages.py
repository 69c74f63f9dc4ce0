"""Messages: what agents send about them and what they get."""

from typing import Any

from rest_framework import serializers

from compaction.models import Message, Session
from compaction.services.sessions.drafts import (
    APPEND_MESSAGES_MAX,
    CONTENT_BYTES_MAX,
    LABEL_CHARACTERS_MAX,
    MESSAGE_NAME_CHARACTERS_MAX,
    ROLES,
)
from compaction.services.sessions.tool_calls import CALLS_MAX
from memories.store.serializers.inputs import QUERY_CHARACTERS_MAX, metadata_field
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictField,
    StrictIntegerField,
    StrictTextField,
    format_utc,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer


class UncheckedField(StrictField):
    """A value as it comes, whose rules stand with the action and name the place in it."""

    def to_internal_value(self, data: Any) -> Any:
        """The value."""
        return data


class MessageInput(StrictSerializer):
    """A new message; what role, calls and results say together is checked with the whole append."""

    role = StrictChoiceField(choices=ROLES)
    content = StrictTextField(required=False, allow_null=True, default="")
    name = StrictTextField(max_length=MESSAGE_NAME_CHARACTERS_MAX, required=False, allow_null=True, default="")
    tool_calls = UncheckedField(required=False, allow_null=True, default=list)
    tool_call_id = StrictTextField(max_length=LABEL_CHARACTERS_MAX, required=False, allow_null=True, default="")
    pinned = StrictBooleanField(required=False, default=False)
    metadata = metadata_field(required=False, default=dict)
    source_id = StrictTextField(max_length=LABEL_CHARACTERS_MAX, required=False, default="")
    created_at = StrictDateTimeField(is_past=True, required=False, allow_null=True, default=None)


class MessageRowsField(StrictField):
    """The messages of an append, each checked later, so that faults are named by their place."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """The rows as they came."""
        if not isinstance(data, list):
            self.refuse("not_a_list", "A list of messages is needed.")
        if not 1 <= len(data) <= APPEND_MESSAGES_MAX:
            self.refuse("bad_length", f"An append has 1 to {APPEND_MESSAGES_MAX} messages.")
        return data


class MessageAppendInput(StrictSerializer):
    """Messages to append."""

    messages = MessageRowsField()


class MessageChanges(StrictSerializer):
    """What of a message can change."""

    pinned = StrictBooleanField()


class MessageListInput(PageInput):
    """The query parameters of the list of messages."""

    q = StrictTextField(min_length=1, max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Words of the text.")
    state = StrictChoiceField(choices=Message.State.values, required=False)
    role = StrictChoiceField(choices=ROLES, required=False)
    after = StrictIntegerField(required=False, takes_text=True, help_text="Only those with a higher sequence.")


def serialize_message(message: Message) -> dict[str, Any]:
    """An original message whatever became of it; `shown_tokens` are those it takes in the context as it stands."""
    return {
        "id": str(message.pk),
        "session_id": str(message.session_id),
        "sequence": message.sequence,
        "role": message.role,
        "content": message.content,
        "name": message.name,
        "tool_calls": message.tool_calls,
        "tool_call_id": message.tool_call_id,
        "state": message.state,
        "pinned": message.pinned,
        "tokens": message.tokens,
        "shown_tokens": message.shown_tokens,
        "metadata": message.metadata,
        "source_id": message.source_id,
        "original_tool": message.original_tool,
        "archived_at": format_utc(message.masked_at),
        "created_at": format_utc(message.created_at),
        "recorded_at": format_utc(message.recorded_at),
    }


def serialize_pressure(session: Session) -> dict[str, Any]:
    """How full a session is."""
    return {
        "message_count": session.message_count,
        "context_tokens": session.context_tokens,
        "pressure": session.pressure,
    }


class ToolFunctionOutput(serializers.Serializer[Any]):
    """What is called."""

    name = serializers.CharField()
    arguments = serializers.CharField(allow_blank=True, help_text="As the model wrote them, usually JSON.")


class ToolCallOutput(serializers.Serializer[Any]):
    """A call as chat completions know it."""

    id = serializers.CharField(help_text="Occurs once in a session.")
    type = serializers.ChoiceField(choices=["function"])
    function = ToolFunctionOutput()


class NewMessageSchema(serializers.Serializer[Any]):
    """A new message."""

    role = serializers.ChoiceField(choices=ROLES)
    content = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=CONTENT_BYTES_MAX,
        help_text="At most 256 KiB; may be empty only beside `tool_calls`.",
    )
    name = serializers.CharField(required=False, allow_null=True, max_length=MESSAGE_NAME_CHARACTERS_MAX)
    tool_calls = serializers.ListField(child=ToolCallOutput(), required=False, max_length=CALLS_MAX)
    tool_call_id = serializers.CharField(
        required=False, allow_null=True, max_length=LABEL_CHARACTERS_MAX, help_text="Of the call that a tool answers."
    )
    pinned = serializers.BooleanField(required=False, default=False, help_text="Pinned ones are never compacted.")
    metadata = serializers.DictField(required=False)
    source_id = serializers.CharField(
        required=False, allow_blank=True, max_length=LABEL_CHARACTERS_MAX, help_text="Your own id, once in a session."
    )
    created_at = serializers.DateTimeField(required=False, allow_null=True, help_text="With offset; default: now.")


class MessageAppendInputSchema(serializers.Serializer[Any]):
    """`MessageAppendInput` as the schema shows it."""

    messages = serializers.ListField(child=NewMessageSchema(), min_length=1, max_length=APPEND_MESSAGES_MAX)


class MessageOutput(serializers.Serializer[Any]):
    """An original message and its state."""

    id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    sequence = serializers.IntegerField(help_text="From 0, without gaps.")
    role = serializers.ChoiceField(choices=ROLES)
    content = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)
    tool_calls = ToolCallOutput(many=True)
    tool_call_id = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=Message.State.values)
    pinned = serializers.BooleanField()
    tokens = serializers.IntegerField()
    shown_tokens = serializers.IntegerField(help_text="What it takes in the context as it stands.")
    metadata = serializers.DictField()
    source_id = serializers.CharField(allow_blank=True)
    original_tool = serializers.CharField(allow_blank=True, help_text="Of a masked one: the tool that said it.")
    archived_at = serializers.DateTimeField(allow_null=True, help_text="When it was masked.")
    created_at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()


class AppendedMessageOutput(MessageOutput):
    """A message of an append."""

    status = serializers.ChoiceField(choices=["created", "existing"])


class MessageAppendOutput(serializers.Serializer[Any]):
    """One result per message, in their order, and how full the session is now."""

    results = AppendedMessageOutput(many=True)
    message_count = serializers.IntegerField()
    context_tokens = serializers.IntegerField()
    pressure = serializers.FloatField()


class MessagePageOutput(serializers.Serializer[Any]):
    """A page of messages in their order."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = MessageOutput(many=True)
