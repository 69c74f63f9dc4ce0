"""Input and output of the API for a session's context."""

from typing import Any

from rest_framework import serializers

from compaction.services.sessions.drafts import ROLES
from compaction.sessions.serializers.messages import ToolCallOutput
from compaction.sessions.trimming import MESSAGE_BLOCK_KIND, SESSION_SUMMARY
from context.assembly.serializers.contexts import ContextInput, ExplainOutput
from context.assembly.serializers.shapes import (
    AnchorOutput,
    BlockOutput,
    ContextBudgetOutput,
    ExclusionOutput,
    ProfileVersionOutput,
    WarningOutput,
)
from context.receipts.results import LINKED_MEMORY, MEMORY, PARTITION_SUMMARY, TENANT_MEMO
from memory_platform.rest.serializers import StrictSerializer

#: Fields of a context request that a session's context has too, with their help texts where these differ.
_FIELDS = {
    "max_tokens": "Default: `max_context_tokens` without what the answer and inexact counting need.",
    "query": "What memories are searched for; default: the newest message of the user.",
    "ordering": "Of the memories; messages keep theirs.",
    "render": "Of the memories.",
    "preview": "Nothing is stored, counted or compacted.",
    "profile": "",
    "budget_profile": "",
    "packer": "",
    "summary_style": "",
    "include_tenant_memo": "",
    "include_memories_top_k": "",
    "include_summaries_at": "",
    "explain": "",
}


class SessionContextInput(StrictSerializer):
    """A request for a session's context; null and absent mean the session's or budget profile's value."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of a context request that apply to a session."""
        fields = ContextInput().get_fields()
        for name, help_text in _FIELDS.items():
            fields[name].help_text = help_text or fields[name].help_text
        return {name: fields[name] for name in _FIELDS}


class ChatMessageOutput(serializers.Serializer[Any]):
    """A message in the format of chat completions; empty fields are absent."""

    role = serializers.ChoiceField(choices=ROLES)
    content = serializers.CharField(allow_null=True, allow_blank=True)
    name = serializers.CharField(required=False)
    tool_calls = ToolCallOutput(many=True, required=False)
    tool_call_id = serializers.CharField(required=False)


class SessionAnchorOutput(AnchorOutput):
    """The anchor of a block. Version 2 of a message is its placeholder; the version of a summary is its generation."""

    type = serializers.ChoiceField(
        choices=[TENANT_MEMO, PARTITION_SUMMARY, MEMORY, SESSION_SUMMARY, MESSAGE_BLOCK_KIND]
    )


class SessionBlockOutput(BlockOutput):
    """An included item, without the directive."""

    kind = serializers.ChoiceField(
        choices=[TENANT_MEMO, PARTITION_SUMMARY, MEMORY, LINKED_MEMORY, SESSION_SUMMARY, MESSAGE_BLOCK_KIND]
    )
    anchor = SessionAnchorOutput()


class SessionContextOutput(serializers.Serializer[Any]):
    """A session's context, as messages and as one text."""

    session_id = serializers.UUIDField()
    context_id = serializers.UUIDField(allow_null=True, help_text="Receipt of the part that memories make up.")
    messages = ChatMessageOutput(many=True)
    text = serializers.CharField(help_text="The messages in one text; each begins with a line such as `[user]`.")
    blocks = SessionBlockOutput(many=True)
    omitted = ExclusionOutput(many=True, help_text="Memories that were left out.")
    budget = ContextBudgetOutput()
    budget_profile = ProfileVersionOutput()
    pressure = serializers.FloatField(help_text="How full the session is; 1 is full.")
    context_tokens = serializers.IntegerField(help_text="What all of the session takes.")
    generation = serializers.IntegerField(help_text="How often its summary was condensed; 0: there is none.")
    warnings = WarningOutput(many=True)
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step.")
    explain = ExplainOutput(required=False, help_text="With `explain`: how the memories were chosen.")
