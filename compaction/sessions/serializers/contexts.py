"""Input and output of the API for a session's context."""

from typing import Any

from rest_framework import serializers

from compaction.services.sessions.drafts import ROLES
from compaction.sessions.results import MESSAGE_BLOCK_KIND, SESSION_SUMMARY
from compaction.sessions.serializers.messages import ToolCallOutput
from context.assembly.serializers.contexts import ExplainOutput, profile_field, validate_optional_query
from context.assembly.serializers.shapes import (
    AnchorOutput,
    BlockOutput,
    ContextBudgetOutput,
    ExclusionOutput,
    ProfileVersionOutput,
    WarningOutput,
)
from context.models import BudgetProfile
from context.receipts.results import DEFAULT_RENDER, LINKED_MEMORY, MEMORY, PARTITION_SUMMARY, TENANT_MEMO
from context.services.ordering import ORDERINGS
from context.services.profiles.fields import SUMMARY_LEVEL_MAX, SUMMARY_LEVELS_MAX, TOP_K_MAX
from context.services.rendering import RENDER_STYLES
from memories.models import PartitionSummary
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictTextField,
)
from memory_platform.rest.serializers import StrictSerializer


class SessionContextInput(StrictSerializer):
    """A request for a session's context; null and absent mean the session's or budget profile's value."""

    max_tokens = StrictIntegerField(
        minimum=1,
        required=False,
        allow_null=True,
        default=None,
        help_text="Default: `max_context_tokens` without what the answer and inexact counting need.",
    )
    query = RuleCheckedField(
        rule=validate_optional_query,
        shape={"type": "string"},
        required=False,
        allow_null=True,
        default=None,
        help_text="What memories are searched for; default: the newest message of the user.",
    )
    profile = profile_field()
    budget_profile = StrictTextField(max_length=64, required=False, allow_null=True, default=None)
    packer = StrictChoiceField(choices=BudgetProfile.Packer.values, required=False, allow_null=True, default=None)
    ordering = StrictChoiceField(
        choices=ORDERINGS,
        required=False,
        allow_null=True,
        default=None,
        help_text="Of the memories; messages keep theirs.",
    )
    render = StrictChoiceField(
        choices=RENDER_STYLES, required=False, allow_null=True, default=DEFAULT_RENDER, help_text="Of the memories."
    )
    summary_style = StrictChoiceField(
        choices=PartitionSummary.Style.values, required=False, allow_null=True, default=None
    )
    include_tenant_memo = StrictBooleanField(required=False, allow_null=True, default=None)
    include_memories_top_k = StrictIntegerField(
        minimum=1, maximum=TOP_K_MAX, required=False, allow_null=True, default=None
    )
    include_summaries_at = serializers.ListField(
        child=StrictIntegerField(minimum=0, maximum=SUMMARY_LEVEL_MAX),
        required=False,
        allow_null=True,
        default=None,
        max_length=SUMMARY_LEVELS_MAX,
        help_text="Levels of the partition tree whose summaries are wanted, 0 being the first segment.",
    )
    explain = StrictBooleanField(required=False, default=False)
    preview = StrictBooleanField(required=False, default=False, help_text="Nothing is stored, counted or compacted.")


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
