"""Parts of answers that several of them share, as the schema shows them."""

from typing import Any

from rest_framework import serializers

from context.receipts.results import LINKED_MEMORY, MEMORY, PARTITION_SUMMARY, TENANT_MEMO


class BreakdownShape(serializers.Serializer[Any]):
    """The five parts of a score, each 0..1, before their weights."""

    relevance = serializers.FloatField()
    recency = serializers.FloatField()
    usefulness = serializers.FloatField()
    confidence = serializers.FloatField()
    frequency = serializers.FloatField()


class WarningShape(serializers.Serializer[Any]):
    """Something to know that is no error."""

    code = serializers.CharField()
    detail = serializers.CharField()


class AnchorShape(serializers.Serializer[Any]):
    """What a block shows: the row and its version."""

    type = serializers.ChoiceField(choices=[TENANT_MEMO, PARTITION_SUMMARY, MEMORY])
    id = serializers.CharField()
    version = serializers.IntegerField()


class BlockShape(serializers.Serializer[Any]):
    """A kept item."""

    kind = serializers.ChoiceField(choices=[TENANT_MEMO, PARTITION_SUMMARY, MEMORY, LINKED_MEMORY])
    anchor = AnchorShape()
    text = serializers.CharField()
    tokens = serializers.IntegerField()
    position = serializers.IntegerField()
    truncated = serializers.BooleanField()
    score = serializers.FloatField(allow_null=True)
    score_breakdown = BreakdownShape(allow_null=True)


class OmissionShape(serializers.Serializer[Any]):
    """An item left out and why."""

    anchor = AnchorShape()
    reason = serializers.ChoiceField(
        choices=["over_budget", "below_minimum_score", "near_duplicate", "already_included", "after_skip_limit"]
    )
    tokens = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    near_duplicate_of = AnchorShape(
        allow_null=True,
        help_text="The block that says nearly the same; null for other reasons, and where an old receipt kept none.",
    )


class BudgetShape(serializers.Serializer[Any]):
    """The budget in tokens; `used` is the count of the text."""

    max_tokens = serializers.IntegerField()
    used = serializers.IntegerField()
    reserved = serializers.IntegerField()
    tokenizer = serializers.CharField()
    exact = serializers.BooleanField()


class NamedVersionShape(serializers.Serializer[Any]):
    """Which version of a profile was used."""

    name = serializers.CharField()
    version = serializers.IntegerField()
