"""Inputs and outputs of the API for prompts and simulations."""

from typing import Any

from rest_framework import serializers

from compaction.models.compactions import PROMPT_CHARACTERS_MAX
from compaction.models.sessions import WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.pipeline.serializers.compactions import BlankAsNullField, RetentionOutput, SummaryStatementOutput
from compaction.services.simulation.simulator import SIMULATED_FIELDS
from context.assembly.serializers.shapes import WarningOutput
from context.profiles.serializers.fields import input_field
from context.services.profiles.compaction_policy import POLICY_FIELDS
from memory_platform.rest.fields import StrictIntegerField, StrictNumberField, StrictTextField, StrictUuidField
from memory_platform.rest.serializers import StrictSerializer

_PRICE_MAX = 10_000.0


class PromptInput(StrictSerializer):
    """A prompt to activate."""

    text = StrictTextField(max_length=PROMPT_CHARACTERS_MAX, min_length=1)
    edited_from = StrictIntegerField(minimum=1, required=False, help_text="The version that it was edited from.")


class PromptRollBackInput(StrictSerializer):
    """The version to activate again; 1 is the built-in prompt."""

    version = StrictIntegerField(minimum=1)


class PromptTrialInput(StrictSerializer):
    """A prompt to try on a recorded session."""

    session_id = StrictUuidField()
    text = StrictTextField(max_length=PROMPT_CHARACTERS_MAX, min_length=1)


class SimulationInput(StrictSerializer):
    """Changes to the session's policy and window."""

    max_context_tokens = StrictIntegerField(minimum=WINDOW_TOKENS_MIN, maximum=WINDOW_TOKENS_MAX, required=False)
    price_per_million = StrictNumberField(minimum=0, maximum=_PRICE_MAX, default=0.0)

    def get_fields(self) -> dict[str, Any]:
        """Add every field of the policy that affects a simulation, with its bounds."""
        return super().get_fields() | {name: input_field(POLICY_FIELDS[name]) for name in SIMULATED_FIELDS}


class RoundedField(serializers.FloatField):
    """A number of an answer, rounded to `digits` places."""

    def __init__(self, *, digits: int = 4) -> None:
        super().__init__()
        self.digits = digits

    def to_representation(self, value: Any) -> Any:
        """The rounded number."""
        return round(float(value), self.digits)


class PromptOutput(serializers.Serializer[Any]):
    """One version of the prompt."""

    version = serializers.IntegerField(help_text="1 is the built-in prompt.")
    text = serializers.CharField()
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while active.")
    created_by = serializers.CharField(allow_blank=True)


class PromptsOutput(serializers.Serializer[Any]):
    """The active prompt, and all versions, newest first."""

    current = PromptOutput()
    versions = PromptOutput(many=True)


class PromptTrialOutput(serializers.Serializer[Any]):
    """The summary that a prompt makes of a session."""

    session_id = serializers.UUIDField(source="session.pk")
    messages = serializers.IntegerField()
    tokens = serializers.IntegerField()
    summary = BlankAsNullField(allow_null=True, source="draft.summary.text")
    summary_token_count = serializers.IntegerField(source="draft.summary_tokens")
    statements = SummaryStatementOutput(many=True, source="draft.summary.statements")
    retention = RetentionOutput(source="draft.retention_record")
    summariser = serializers.CharField(source="draft.summariser")
    is_fallback = serializers.BooleanField(source="draft.is_fallback")
    warnings = WarningOutput(many=True, source="draft.notices")


class SimulatedPointOutput(serializers.Serializer[Any]):
    """The context after a message or a compaction."""

    sequence = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Tokens of the directive, the summary and the messages.")
    pressure = RoundedField()
    event = serializers.CharField()


class SimulatedCostOutput(serializers.Serializer[Any]):
    """Tokens sent to a model over the session; prices are 0 if none was given."""

    calls = serializers.IntegerField()
    tokens_sent = serializers.IntegerField()
    tokens_sent_without_compaction = serializers.IntegerField()
    calls_truncated = serializers.IntegerField()
    calls_truncated_without_compaction = serializers.IntegerField()
    summary_call_tokens = serializers.IntegerField()
    price = RoundedField(digits=6)
    price_without_compaction = RoundedField(digits=6)


class SimulationOutput(serializers.Serializer[Any]):
    """The course of a session under another policy."""

    points = SimulatedPointOutput(many=True)
    compactions = serializers.IntegerField()
    masked = serializers.IntegerField()
    compacted = serializers.IntegerField()
    peak = RoundedField()
    cost = SimulatedCostOutput()
    max_context_tokens = serializers.IntegerField()
    reserved_tokens = serializers.IntegerField(help_text="Tokens of the window reserved for the reply and memories.")
    policy = serializers.DictField()
