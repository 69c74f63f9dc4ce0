"""Input and output of the endpoint that explains why a context includes or excludes a memory."""

from typing import Any

from rest_framework import serializers

from context.assembly.serializers.contexts import ContextInput
from context.assembly.serializers.shapes import (
    AnchorOutput,
    ContextBudgetOutput,
    ProfileVersionOutput,
    ScoreBreakdownOutput,
    WarningOutput,
)
from memory_platform.rest.fields import StrictUuidField


class ExplanationInput(ContextInput):
    """A context request, and the memory in question. Nothing is stored or counted."""

    memory_id = StrictUuidField(help_text="Any memory within the key's partition, including archived and expired ones.")


class ExplainedMemoryOutput(serializers.Serializer[Any]):
    """The current state of the memory."""

    id = serializers.UUIDField()
    version = serializers.IntegerField()
    partition = serializers.CharField()
    pinned = serializers.BooleanField()
    archived_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    embedding_state = serializers.CharField(help_text="`ready`, `pending` or `failed`.")
    tokens = serializers.IntegerField()


class InclusionBudgetOutput(serializers.Serializer[Any]):
    """The smallest larger budget that includes the memory."""

    max_tokens = serializers.IntegerField(allow_null=True, help_text="Null if no budget that was tried includes it.")
    is_smallest = serializers.BooleanField(help_text="Whether every smaller budget was tried without success.")
    highest_tried = serializers.IntegerField()
    is_time_limited = serializers.BooleanField(help_text="Whether the time limit ended the search for a budget.")


class ExplanationOutput(serializers.Serializer[Any]):
    """Why the context includes or excludes the memory."""

    memory = ExplainedMemoryOutput()
    included = serializers.BooleanField()
    position = serializers.IntegerField(allow_null=True, help_text="Place in the text, from 1; null if excluded.")
    reason = serializers.ChoiceField(
        choices=[
            *("archived", "superseded", "expired", "not_yet", "new_version", "elsewhere", "farther"),
            *("over_budget", "after_skip_limit", "below_minimum_score", "near_duplicate", "already_included"),
        ],
        allow_null=True,
        help_text="`farther`: live and searched, but other memories rank higher. Null if included.",
    )
    detail = serializers.CharField(help_text="The reason in one sentence.")
    vector_rank = serializers.IntegerField(allow_null=True, help_text="Null if this retriever does not find it.")
    text_rank = serializers.IntegerField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    score_breakdown = ScoreBreakdownOutput(allow_null=True, help_text="Null without a score.")
    is_estimated = serializers.BooleanField(
        help_text="Whether the memory is not a candidate, so that ranks and score are those it would have."
    )
    lowest_included_score = serializers.FloatField(
        allow_null=True, help_text="Lowest score of the included memories that are not pinned."
    )
    minimum_score = serializers.FloatField(allow_null=True)
    candidates = serializers.IntegerField()
    tokens_missing = serializers.IntegerField(allow_null=True)
    superseded_by = AnchorOutput(allow_null=True)
    near_duplicate_of = AnchorOutput(allow_null=True)
    inclusion_budget = InclusionBudgetOutput(allow_null=True, help_text="Null if no budget would help.")
    budget = ContextBudgetOutput()
    profile = ProfileVersionOutput()
    budget_profile = ProfileVersionOutput()
    warnings = WarningOutput(many=True)
