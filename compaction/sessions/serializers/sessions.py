"""Sessions: what agents send about them and what they get."""

from datetime import datetime
from typing import Any

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
    format_utc,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

OPEN, CLOSED_SESSION_STATE, _ALL = _STATES = ("open", "closed", "all")
PRESSURE_MAX = 1_000_000


class PressureField(StrictNumberField):
    """A pressure from a query parameter."""

    def to_internal_value(self, data: Any) -> float:
        """The number."""
        try:
            number = float(data) if isinstance(data, str) and data.isascii() else data
        except ValueError:
            self.refuse("not_a_number", "A number is needed.")
        return super().to_internal_value(number)


def model_field(**kwargs: Any) -> StrictTextField:
    """The model whose window and tokens count."""
    return StrictTextField(min_length=1, max_length=MODEL_CHARACTERS_MAX, help_text="Default: gpt-4o.", **kwargs)


def window_field(**kwargs: Any) -> StrictIntegerField:
    """The tokens that the session's context is kept below."""
    return StrictIntegerField(
        minimum=WINDOW_TOKENS_MIN, maximum=WINDOW_TOKENS_MAX, help_text="Default: the model's window.", **kwargs
    )


def directive_field(**kwargs: Any) -> StrictTextField:
    """The system's text at the head of every context."""
    return StrictTextField(max_length=CONTENT_BYTES_MAX, **kwargs)


class SessionInput(PartitionScopedInput):
    """A new session."""

    model = model_field(required=False, allow_null=True, default=None)
    max_context_tokens = window_field(required=False, allow_null=True, default=None)
    directive = directive_field(required=False, default="")
    metadata = metadata_field(required=False, default=dict)


class SessionChanges(StrictSerializer):
    """Changes of a session: only the fields that are there."""

    model = model_field(required=False)
    max_context_tokens = window_field(required=False, allow_null=True)
    directive = directive_field(required=False)
    metadata = metadata_field(required=False)


#: What the list can be ordered by: the column, and the type of its values.
SESSION_LIST_ORDERINGS: dict[str, tuple[str, type]] = {
    "created_at": ("created_at", datetime),
    "pressure": ("fullness", float),
}


class SessionListInput(PartitionFilterInput, PageInput):
    """The query parameters of the list of sessions."""

    exact = exact_field(takes_text=True)
    state = StrictChoiceField(choices=_STATES, required=False, default=OPEN)
    min_pressure: StrictField = PressureField(
        minimum=0, maximum=PRESSURE_MAX, required=False, help_text="Only those as full as this or fuller; 1 is full."
    )
    ordering = StrictChoiceField(
        required=False,
        default="-created_at",
        choices=[sign + name for name in SESSION_LIST_ORDERINGS for sign in ("", "-")],
    )


def serialize_session(session: Session) -> dict[str, Any]:
    """A session, read with its current compaction."""
    current = session.current
    return {
        "id": str(session.pk),
        "partition": session.partition_path,
        "model": session.model,
        "max_context_tokens": session.max_context_tokens,
        "directive": session.directive,
        "metadata": session.metadata,
        "state": OPEN if session.closed_at is None else CLOSED_SESSION_STATE,
        "message_count": session.message_count,
        "context_tokens": session.context_tokens,
        "pressure": session.pressure,
        "compaction_id": None if current is None else str(current.pk),
        "generation": 0 if current is None else current.generation,
        "created_at": format_utc(session.created_at),
        "last_message_at": format_utc(session.last_message_at),
        "closed_at": format_utc(session.closed_at),
    }


class SessionOutput(serializers.Serializer[Any]):
    """A session."""

    id = serializers.UUIDField()
    partition = serializers.CharField(help_text='Path; "" is the root.')
    model = serializers.CharField()
    max_context_tokens = serializers.IntegerField()
    directive = serializers.CharField(allow_blank=True)
    metadata = serializers.DictField()
    state = serializers.ChoiceField(choices=[OPEN, CLOSED_SESSION_STATE])
    message_count = serializers.IntegerField()
    context_tokens = serializers.IntegerField(
        help_text="Of directive, summary and every message as it stands, in tokens of the model."
    )
    pressure = serializers.FloatField(help_text="`context_tokens` / `max_context_tokens`; 1 is full.")
    compaction_id = serializers.UUIDField(allow_null=True, help_text="Whose summary stands in the context.")
    generation = serializers.IntegerField(help_text="How often that summary was condensed; 0: there is none.")
    created_at = serializers.DateTimeField()
    last_message_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


class SessionPageOutput(serializers.Serializer[Any]):
    """A page of sessions."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = SessionOutput(many=True)
