"""Inputs and outputs of the API for sessions."""

from datetime import datetime
from typing import Any, Literal

from rest_framework import serializers

from compaction.models import Session
from compaction.models.sessions import MODEL_CHARACTERS_MAX, WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.services.sessions.drafts import CONTENT_BYTES_MAX
from memories.store.serializers.inputs import metadata_field
from memories.tenancy.serializers.partitions import PartitionFilterInput, PartitionScopedInput, exact_field
from memory_platform.rest.fields import (
    StrictChoiceField,
    StrictField,
    StrictIntegerField,
    StrictNumberField,
    StrictTextField,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

OPEN, CLOSED_SESSION_STATE, _ALL = _STATES = ("open", "closed", "all")
PRESSURE_MAX = 1_000_000


class PressureField(StrictNumberField):
    """A pressure from a query parameter."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number."""
        try:
            number = float(data) if isinstance(data, str) and data.isascii() else data
        except ValueError:
            self.refuse("not_a_number", "A number is needed.")
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

    model = model_field(required=False, allow_null=True, default=None)
    max_context_tokens = window_field(required=False, allow_null=True, default=None)
    directive = directive_field(required=False, default="")
    metadata = metadata_field(required=False, default=dict)


class SessionChanges(StrictSerializer):
    """Changes of a session; omitted fields stay."""

    model = model_field(required=False)
    max_context_tokens = window_field(required=False, allow_null=True)
    directive = directive_field(required=False)
    metadata = metadata_field(required=False)


#: The orderings of the list: the column, and the type of its values.
SESSION_LIST_ORDERINGS: dict[str, tuple[str, type]] = {
    "created_at": ("created_at", datetime),
    "pressure": ("fullness", float),
}


class SessionListInput(PartitionFilterInput, PageInput):
    """The query parameters of the list of sessions."""

    exact = exact_field(takes_text=True)
    state = StrictChoiceField(choices=_STATES, required=False, default=OPEN)
    min_pressure: StrictField = PressureField(
        minimum=0, maximum=PRESSURE_MAX, required=False, help_text="Only sessions of this pressure or more; 1 is full."
    )
    ordering = StrictChoiceField(
        required=False,
        default="-created_at",
        choices=[sign + name for name in SESSION_LIST_ORDERINGS for sign in ("", "-")],
    )


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
        help_text="Directive, summary and every message as it is shown, in tokens of the model."
    )
    pressure = serializers.FloatField(help_text="`context_tokens` / `max_context_tokens`; 1 is full.")
    compaction_id = serializers.UUIDField(
        allow_null=True, source="current_id", help_text="The one whose summary is in the context."
    )
    generation = serializers.IntegerField(
        source="current.generation",
        default=0,
        read_only=True,
        help_text="How often that summary was condensed; 0: there is none.",
    )
    created_at = serializers.DateTimeField()
    last_message_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)

    def get_state(self, row: Session) -> Literal["open", "closed"]:
        """Whether the session is open or closed."""
        return "open" if row.closed_at is None else "closed"
