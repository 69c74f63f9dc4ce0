"""Inputs and outputs of the API for sessions and their contexts."""

from typing import Any, Literal

from rest_framework import serializers

from compaction.models import Session
from compaction.models.sessions import MODEL_CHARACTERS_MAX, WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.pipeline.session_rows import pressure_parts
from compaction.services.sessions.drafts import CONTENT_BYTES_MAX, ROLES
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
from memories.store.serializers.inputs import metadata_field
from memories.tenancy.serializers.partitions import PartitionFilterInput, PartitionScopedInput, exact_field
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictChoiceField,
    StrictField,
    StrictIntegerField,
    StrictNumberField,
    StrictTextField,
)
from memory_platform.rest.serializers import StrictSerializer

OPEN, CLOSED_SESSION_STATE, _ALL = _STATES = ("open", "closed", "all")
PRESSURE_MAX = 1_000_000


class PressureField(StrictNumberField):
    """A pressure from a query parameter."""

    def to_internal_value(self, data: Any) -> float:
        """Return the value as a finite number."""
        try:
            number = float(data) if isinstance(data, str) and data.isascii() else data
        except ValueError:
            self.refuse("not_a_number", "Must be a number.")
        return super().to_internal_value(number)


def model_field(**kwargs: Any) -> StrictTextField:
    """The field for the model, which determines window and token counts."""
    return StrictTextField(min_length=1, max_length=MODEL_CHARACTERS_MAX, help_text="Default: gpt-4o.", **kwargs)


def window_field(**kwargs: Any) -> StrictIntegerField:
    """The field for the window, in tokens."""
    return StrictIntegerField(
        minimum=WINDOW_TOKENS_MIN, maximum=WINDOW_TOKENS_MAX, help_text="Default: the model's window.", **kwargs
    )


def directive_field(**kwargs: Any) -> StrictTextField:
    """The field for the system text at the head of every context."""
    return StrictTextField(max_length=CONTENT_BYTES_MAX, **kwargs)


class SessionInput(PartitionScopedInput):
    """A new session."""

    model = model_field(allow_null=True, default=None)
    max_context_tokens = window_field(allow_null=True, default=None)
    directive = directive_field(default="")
    metadata = metadata_field(default=dict)


class SessionChanges(StrictSerializer):
    """Changes of a session; omitted fields do not change."""

    model = model_field(required=False)
    max_context_tokens = window_field(required=False, allow_null=True)
    directive = directive_field(required=False)
    metadata = metadata_field(required=False)


#: The columns of the orderings of the list.
SESSION_LIST_ORDERINGS = {"created_at": "created_at", "pressure": "fullness"}


class SessionListInput(PartitionFilterInput, PageInput):
    """The query parameters of the list of sessions."""

    exact = exact_field(takes_text=True)
    state = StrictChoiceField(choices=_STATES, default=OPEN)
    min_pressure: StrictField = PressureField(
        minimum=0,
        maximum=PRESSURE_MAX,
        required=False,
        help_text="Only sessions with at least this pressure; 1 is full.",
    )
    ordering = StrictChoiceField(
        default="-created_at", choices=[sign + name for name in SESSION_LIST_ORDERINGS for sign in ("", "-")]
    )


class PressurePartsOutput(serializers.Serializer[Any]):
    """The tokens that a session's next context needs, by part; their total determines the pressure."""

    messages = serializers.IntegerField(help_text="Tokens of the messages in the context, with their marker lines.")
    directive = serializers.IntegerField()
    summary = serializers.IntegerField()
    memories = serializers.IntegerField(help_text="The share reserved for memories.")
    reply = serializers.IntegerField(help_text="Reserved for the reply and for inexact token counts.")

    def to_representation(self, instance: Session) -> dict[str, int]:
        """The tokens by part."""
        return pressure_parts(instance)._asdict()


class SessionOutput(serializers.Serializer[Any]):
    """A session."""

    id = serializers.UUIDField()
    partition = serializers.CharField(source="partition_path", help_text='Path; "" is the root.')
    model = serializers.CharField()
    max_context_tokens = serializers.IntegerField()
    directive = serializers.CharField(allow_blank=True)
    metadata = serializers.DictField()
    state = serializers.SerializerMethodField()
    message_count = serializers.IntegerField()
    context_tokens = serializers.IntegerField(
        help_text="Tokens of the directive, the summary and all messages in the context, as the model counts them."
    )
    pressure = serializers.FloatField(
        help_text="Tokens that the next context needs, divided by `max_context_tokens`; 1 is full."
    )
    pressure_parts = PressurePartsOutput(source="*")
    compaction_id = serializers.UUIDField(
        allow_null=True, source="current_id", help_text="The compaction whose summary is in the context."
    )
    generation = serializers.IntegerField(
        source="current.generation",
        default=0,
        read_only=True,
        help_text="How many times that summary was condensed; 0 without a summary.",
    )
    created_at = serializers.DateTimeField()
    last_message_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)

    def get_state(self, row: Session) -> Literal["open", "closed"]:
        """Whether the session is open or closed."""
        return "open" if row.closed_at is None else "closed"


#: Fields that a session's context shares with a context request, with their help texts where these differ.
_FIELDS = {
    "max_tokens": "Default: `max_context_tokens` minus the reserve for the reply and for inexact counts.",
    "query": "Query for memories; default: the user's newest message.",
    "ordering": "Order of the memories; messages keep theirs.",
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
    context_id = serializers.UUIDField(allow_null=True, help_text="Receipt of the memories in the context.")
    messages = ChatMessageOutput(many=True)
    text = serializers.CharField(help_text="The messages in one text; each begins with a line such as `[user]`.")
    blocks = SessionBlockOutput(many=True)
    omitted = ExclusionOutput(many=True, help_text="Excluded memories.")
    budget = ContextBudgetOutput()
    budget_profile = ProfileVersionOutput()
    pressure = serializers.FloatField(
        help_text="Tokens that this context needed, divided by `max_context_tokens`; 1 is full."
    )
    pressure_parts = PressurePartsOutput()
    context_tokens = serializers.IntegerField(
        help_text="Tokens of the directive, the summary and the messages; a part of the pressure."
    )
    generation = serializers.IntegerField(help_text="How many times its summary was condensed; 0 without a summary.")
    warnings = WarningOutput(many=True)
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step.")
    explain = ExplainOutput(required=False, help_text="With `explain`: how the memories were chosen.")
