"""Prompts and simulations: what agents send about them and what they get."""

from typing import Any

from rest_framework import serializers

from compaction.models import CompactionPrompt
from compaction.models.compactions import PROMPT_CHARACTERS_MAX
from compaction.models.sessions import WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.pipeline.prompt_trial import PromptTrial
from compaction.pipeline.serializers.compaction_shapes import (
    CompactionWarningOutput,
    RetentionOutput,
    SummaryStatementOutput,
)
from compaction.services.simulation.simulator import Simulation
from context.services.profiles.compaction_policy import BOUNDS, DEFAULT_POLICY
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictIntegerField,
    StrictNumberField,
    StrictTextField,
    StrictUuidField,
    format_utc,
)
from memory_platform.rest.serializers import StrictSerializer

_PRICE_MAX = 10_000.0
#: What of a policy has an effect on a simulation.
SIMULATED_SWITCHES = ("has_scheduled", "has_emergency", "has_masking", "has_summaries")
SIMULATED_NUMBERS = (
    "sleep_threshold", "emergency_threshold", "target", "preserve_messages", "preserve_share", "mask_over_bytes",
    "summary_share", "idle_minutes",
)  # fmt: skip


class PromptInput(StrictSerializer):
    """A prompt to put into force."""

    text = StrictTextField(max_length=PROMPT_CHARACTERS_MAX, min_length=1)
    edited_from = StrictIntegerField(minimum=1, required=False, help_text="The version it was made from.")


class PromptRollBackInput(StrictSerializer):
    """Which version to put into force again; 1 is the code's."""

    version = StrictIntegerField(minimum=1)


class PromptTrialInput(StrictSerializer):
    """A prompt to be tried on a recorded session."""

    session_id = StrictUuidField()
    text = StrictTextField(max_length=PROMPT_CHARACTERS_MAX, min_length=1)


class SimulationInput(StrictSerializer):
    """What to change of the session's policy, and of its window."""

    max_context_tokens = StrictIntegerField(minimum=WINDOW_TOKENS_MIN, maximum=WINDOW_TOKENS_MAX, required=False)
    price_per_million = StrictNumberField(minimum=0, maximum=_PRICE_MAX, required=False, default=0.0)

    def get_fields(self) -> dict[str, Any]:
        """With every number of the policy that has an effect, by its own name and bounds."""
        fields = super().get_fields()
        for name in SIMULATED_NUMBERS:
            least, most = BOUNDS[name]
            if isinstance(getattr(DEFAULT_POLICY, name), int):
                fields[name] = StrictIntegerField(minimum=int(least), maximum=int(most), required=False)
            else:
                fields[name] = StrictNumberField(minimum=least, maximum=most, required=False)
        return fields | {name: StrictBooleanField(required=False) for name in SIMULATED_SWITCHES}


def serialize_prompt(row: CompactionPrompt) -> dict[str, Any]:
    """One version; version 1, the code's, was never saved."""
    return {
        "version": row.version,
        "text": row.text,
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
        "created_by": row.created_by,
    }


def serialize_prompt_trial(trial: PromptTrial) -> dict[str, Any]:
    """What a prompt would make of a session."""
    draft = trial.draft
    return {
        "session_id": str(trial.session.pk),
        "messages": trial.messages,
        "tokens": trial.tokens,
        "summary": draft.summary.text or None,
        "summary_token_count": draft.summary_tokens,
        "statements": [statement.as_record() for statement in draft.summary.statements],
        "retained": {
            "kept": len(draft.retention.kept),
            "missing": len(draft.retention.missing),
            "share": round(draft.retention.share, 4),
        },
        "summariser": draft.summariser,
        "is_fallback": draft.is_fallback,
        "warnings": [notice.as_answer() for notice in draft.notices],
    }


def serialize_simulation(simulation: Simulation, *, policy: dict[str, Any], window: int) -> dict[str, Any]:
    """The course of the session under the policy."""
    cost = simulation.cost
    return {
        "points": [
            {"sequence": one.sequence, "tokens": one.tokens, "pressure": round(one.pressure, 4), "event": one.event}
            for one in simulation.points
        ],
        "compactions": simulation.compactions,
        "masked": simulation.masked,
        "compacted": simulation.compacted,
        "peak": round(simulation.peak, 4),
        "cost": {
            "calls": cost.calls,
            "tokens_sent": cost.tokens_sent,
            "tokens_sent_without_compaction": cost.tokens_sent_without_compaction,
            "calls_cut": cost.calls_cut,
            "calls_cut_without_compaction": cost.calls_cut_without_compaction,
            "summarising_tokens": cost.summarising_tokens,
            "price": round(cost.price, 6),
            "price_without_compaction": round(cost.price_without_compaction, 6),
        },
        "max_context_tokens": window,
        "policy": policy,
    }


class PromptOutput(serializers.Serializer[Any]):
    """One version of the prompt."""

    version = serializers.IntegerField(help_text="1 is the code's.")
    text = serializers.CharField()
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while in force.")
    created_by = serializers.CharField(allow_blank=True)


class PromptsOutput(serializers.Serializer[Any]):
    """The prompt in force, and all versions, newest first."""

    current = PromptOutput()
    versions = PromptOutput(many=True)


class PromptTrialOutput(serializers.Serializer[Any]):
    """What a prompt would make of a session."""

    session_id = serializers.UUIDField()
    messages = serializers.IntegerField()
    tokens = serializers.IntegerField()
    summary = serializers.CharField(allow_null=True)
    summary_token_count = serializers.IntegerField()
    statements = SummaryStatementOutput(many=True)
    retained = RetentionOutput()
    summariser = serializers.CharField()
    is_fallback = serializers.BooleanField()
    warnings = CompactionWarningOutput(many=True)


class SimulatedPointOutput(serializers.Serializer[Any]):
    """The context after a message, or after a compaction."""

    sequence = serializers.IntegerField()
    tokens = serializers.IntegerField()
    pressure = serializers.FloatField()
    event = serializers.CharField()


class SimulatedCostOutput(serializers.Serializer[Any]):
    """Tokens sent to a model over the session; prices are 0 where none was given."""

    calls = serializers.IntegerField()
    tokens_sent = serializers.IntegerField()
    tokens_sent_without_compaction = serializers.IntegerField()
    calls_cut = serializers.IntegerField()
    calls_cut_without_compaction = serializers.IntegerField()
    summarising_tokens = serializers.IntegerField()
    price = serializers.FloatField()
    price_without_compaction = serializers.FloatField()


class SimulationOutput(serializers.Serializer[Any]):
    """What the policy would have made of the session."""

    points = SimulatedPointOutput(many=True)
    compactions = serializers.IntegerField()
    masked = serializers.IntegerField()
    compacted = serializers.IntegerField()
    peak = serializers.FloatField()
    cost = SimulatedCostOutput()
    max_context_tokens = serializers.IntegerField()
    policy = serializers.DictField()
