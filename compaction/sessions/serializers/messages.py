"""Inputs and outputs of the API for messages."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from compaction.models import Message
from compaction.services.sessions import drafts
from compaction.services.sessions.tool_calls import CALLS_MAX
from memories.services.store.content import ContentError
from memories.services.store.message_parts import content_text
from memories.store.serializers.inputs import QUERY_CHARACTERS_MAX, metadata_field
from memories.store.serializers.messages import MESSAGE_CONTENT_SCHEMA
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictField,
    StrictIntegerField,
    StrictTextField,
    text_error,
)
from memory_platform.rest.serializers import StrictSerializer


class ToolFunctionOutput(serializers.Serializer[Any]):
    """The function of a call."""

    name = serializers.CharField()
    arguments = serializers.CharField(allow_blank=True, help_text="Text as written by the model, usually JSON.")


class ToolCallOutput(serializers.Serializer[Any]):
    """A tool call in the format of chat completions."""

    id = serializers.CharField(help_text="Unique in the session.")
    type = serializers.ChoiceField(choices=["function"])
    function = ToolFunctionOutput()


@extend_schema_field(serializers.ListField(child=ToolCallOutput(), max_length=CALLS_MAX))
class ToolCallsField(StrictField):
    """Tool calls; the action checks them and names the faulty element."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the value."""
        return data


@extend_schema_field(MESSAGE_CONTENT_SCHEMA)
class MessageContentField(StrictField):
    """The content of a message: a text or a list of content parts."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text of the content."""
        try:
            text: Any = content_text(data)
        except ContentError as error:
            self.refuse(error.code, error.detail)
        if fault := text_error(text):
            self.refuse(*fault)
        return str(text)


class MessageInput(StrictSerializer):
    """A new message."""

    role = StrictChoiceField(choices=drafts.ROLES)
    content = MessageContentField(
        allow_null=True,
        default="",
        help_text=(
            "A text, or content parts, which are stored as one text: text parts as their lines, `[image]`, `[audio]` or"
            " `[file]` for the others. At most 256 KiB; may be empty only with `tool_calls`."
        ),
    )
    name = StrictTextField(max_length=drafts.MESSAGE_NAME_CHARACTERS_MAX, allow_null=True, default="")
    tool_calls = ToolCallsField(allow_null=True, default=list)
    tool_call_id = StrictTextField(
        max_length=drafts.LABEL_CHARACTERS_MAX,
        allow_null=True,
        default="",
        help_text="Id of the call that this tool message answers.",
    )
    pinned = StrictBooleanField(default=False, help_text="Pinned messages are never compacted.")
    metadata = metadata_field(default=dict)
    source_id = StrictTextField(
        max_length=drafts.LABEL_CHARACTERS_MAX, default="", help_text="Your own id, unique in the session."
    )
    created_at = StrictDateTimeField(
        is_past=True, allow_null=True, default=None, help_text="Needs a UTC offset; default: now."
    )


@extend_schema_field(serializers.ListField(child=MessageInput(), min_length=1, max_length=drafts.APPEND_MESSAGES_MAX))
class MessageRowsField(StrictField):
    """The messages of an append, each checked later, so that faults are named by their index."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the rows as they came."""
        if not isinstance(data, list):
            self.refuse("not_a_list", "Must be a list of messages.")
        if not 1 <= len(data) <= drafts.APPEND_MESSAGES_MAX:
            self.refuse("bad_length", f"An append must have 1 to {drafts.APPEND_MESSAGES_MAX} messages.")
        return data


class MessageAppendInput(StrictSerializer):
    """Messages to append."""

    messages = MessageRowsField(help_text=f"1 to {drafts.APPEND_MESSAGES_MAX} messages.")


class MessageChanges(StrictSerializer):
    """The fields of a message that can change."""

    pinned = StrictBooleanField()


class MessageListInput(PageInput):
    """The query parameters of the list of messages."""

    q = StrictTextField(
        min_length=1, max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Words that the text contains."
    )
    state = StrictChoiceField(choices=Message.State.values, required=False)
    role = StrictChoiceField(choices=drafts.ROLES, required=False)
    after = StrictIntegerField(required=False, takes_text=True, help_text="Only messages with a higher sequence.")


class MessageOutput(serializers.Serializer[Any]):
    """An original message in its current state."""

    id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    sequence = serializers.IntegerField(help_text="Consecutive number, from 0.")
    role = serializers.ChoiceField(choices=drafts.ROLES)
    content = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)
    tool_calls = ToolCallOutput(many=True)
    tool_call_id = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=Message.State.values)
    pinned = serializers.BooleanField()
    tokens = serializers.IntegerField()
    shown_tokens = serializers.IntegerField(help_text="Tokens that the message currently takes in the context.")
    metadata = serializers.DictField()
    source_id = serializers.CharField(allow_blank=True)
    original_tool = serializers.CharField(
        allow_blank=True, help_text="For a masked message, the tool that returned it."
    )
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
