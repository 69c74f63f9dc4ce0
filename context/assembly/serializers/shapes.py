"""Output serializers that several answers share."""

from typing import Any

from rest_framework import serializers

from context.receipts.results import LINKED_MEMORY, MEMORY, PARTITION_SUMMARY, TENANT_MEMO


class ScoreBreakdownOutput(serializers.Serializer[Any]):
    """The five components of a score, each 0..1, before their weights."""

    relevance = serializers.FloatField()
    recency = serializers.FloatField()
    usefulness = serializers.FloatField()
    confidence = serializers.FloatField()
    frequency = serializers.FloatField()


class WarningOutput(serializers.Serializer[Any]):
    """Something that made an answer worse but not wrong."""

    code = serializers.CharField()
    detail = serializers.CharField()


class AnchorOutput(serializers.Serializer[Any]):
    """What a block shows: the row and its version."""

    type = serializers.ChoiceField(choices=[TENANT_MEMO, PARTITION_SUMMARY, MEMORY])
    id = serializers.CharField()
    version = serializers.IntegerField()


class BlockOutput(serializers.Serializer[Any]):
    """An included item."""

    kind = serializers.ChoiceField(choices=[TENANT_MEMO, PARTITION_SUMMARY, MEMORY, LINKED_MEMORY])
    anchor = AnchorOutput()
    text = serializers.CharField()
    tokens = serializers.IntegerField()
    position = serializers.IntegerField()
    truncated = serializers.BooleanField()
    score = serializers.FloatField(allow_null=True)
    score_breakdown = ScoreBreakdownOutput(allow_null=True)
    created_at = serializers.DateTimeField(
        allow_null=True,
        help_text="For a memory, when it happened or was said; for other items, when they were written.",
    )
    valid_from = serializers.DateTimeField(
        allow_null=True, help_text="Start of the memory version's validity; null for other items."
    )
    valid_to = serializers.DateTimeField(allow_null=True, help_text="Null while the version is valid.")


class ExclusionOutput(serializers.Serializer[Any]):
    """An excluded item and the reason."""

    anchor = AnchorOutput()
    reason = serializers.ChoiceField(
        choices=["over_budget", "below_minimum_score", "near_duplicate", "already_included", "after_skip_limit"]
    )
    tokens = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    near_duplicate_of = AnchorOutput(
        allow_null=True, help_text="The block that it nearly duplicates; null for other reasons."
    )


class ContextBudgetOutput(serializers.Serializer[Any]):
    """The budget in tokens; `used` is the count of the text."""

    max_tokens = serializers.IntegerField()
    used = serializers.IntegerField()
    reserved = serializers.IntegerField(help_text="Kept for the reply in the model's window.")
    tokenizer = serializers.CharField()
    exact = serializers.BooleanField()


class ProfileVersionOutput(serializers.Serializer[Any]):
    """Which version of a profile was used."""

    name = serializers.CharField()
    version = serializers.IntegerField()
