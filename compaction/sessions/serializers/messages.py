"""Inputs and outputs of the API for messages."""

from typing import Any

from rest_framework import serializers

from compaction.models import Message
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
)
from memory_platform.rest.pages import PageInput, PageOutput
from memory_platform.rest.serializers import StrictSerializer


class UncheckedField(StrictField):
    """A value that the action checks, which names the faulty element."""

    def to_internal_value(self, data: Any) -> Any:
        """The value."""
        return data


class MessageInput(StrictSerializer):
    """A new message; the action checks role, calls and results together with the whole append."""

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
    """The messages of an append, each checked later, so that faults are named by their index."""

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
    """The fields of a message that can change."""

    pinned = StrictBooleanField()


class MessageListInput(PageInput):
    """The query parameters of the list of messages."""

    q = StrictTextField(min_length=1, max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Words of the text.")
    state = StrictChoiceField(choices=Message.State.values, required=False)
    role = StrictChoiceField(choices=ROLES, required=False)
    after = StrictIntegerField(required=False, takes_text=True, help_text="Only those with a higher sequence.")


class ToolFunctionOutput(serializers.Serializer[Any]):
    """The function of a call."""

    name = serializers.CharField()
    arguments = serializers.CharField(allow_blank=True, help_text="As the model wrote them, usually JSON.")


class ToolCallOutput(serializers.Serializer[Any]):
    """A tool call in the format of chat completions."""

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
        help_text="At most 256 KiB; may be empty only with `tool_calls`.",
    )
    name = serializers.CharField(required=False, allow_null=True, max_length=MESSAGE_NAME_CHARACTERS_MAX)
    tool_calls = serializers.ListField(child=ToolCallOutput(), required=False, max_length=CALLS_MAX)
    tool_call_id = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=LABEL_CHARACTERS_MAX,
        help_text="Id of the call that a tool answers.",
    )
    pinned = serializers.BooleanField(required=False, default=False, help_text="Pinned messages are never compacted.")
    metadata = serializers.DictField(required=False)
    source_id = serializers.CharField(
        required=False, allow_blank=True, max_length=LABEL_CHARACTERS_MAX, help_text="Your own id, once in a session."
    )
    created_at = serializers.DateTimeField(required=False, allow_null=True, help_text="With offset; default: now.")


class MessageAppendInputSchema(serializers.Serializer[Any]):
    """Messages to append."""

    messages = serializers.ListField(child=NewMessageSchema(), min_length=1, max_length=APPEND_MESSAGES_MAX)


class MessageOutput(serializers.Serializer[Any]):
    """An original message in its current state."""

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
    shown_tokens = serializers.IntegerField(help_text="Its tokens in the context now.")
    metadata = serializers.DictField()
    source_id = serializers.CharField(allow_blank=True)
    original_tool = serializers.CharField(allow_blank=True, help_text="Of a masked message: the tool that wrote it.")
    archived_at = serializers.DateTimeField(allow_null=True, source="masked_at", help_text="When it was masked.")
    created_at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()


class AppendedMessageOutput(MessageOutput):
    """A message of an append."""

    status = serializers.ChoiceField(choices=["created", "existing"])


class MessageAppendOutput(serializers.Serializer[Any]):
    """One result per message, in their order, and the session's pressure now."""

    results = AppendedMessageOutput(many=True)
    message_count = serializers.IntegerField()
    context_tokens = serializers.IntegerField()
    pressure = serializers.FloatField()


class MessagePageOutput(PageOutput):
    """A page of messages in their order."""

    results = MessageOutput(many=True)
