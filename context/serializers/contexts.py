"""What agents send to get a context, and how it looks."""

from typing import Any

from rest_framework import serializers

from context.models import TOP_K_MAX, BudgetProfile
from context.results import DEFAULT_RENDER, SCORING_PROFILE_NAME
from context.serializers.fields import query_or_nothing
from context.serializers.shapes import BlockShape, BudgetShape, NamedVersionShape, OmissionShape, WarningShape
from context.services.ordering import ORDERINGS
from context.services.rendering import STYLES
from memories.serializers.partitions import ReadingInput
from memory_platform.rest.fields import CheckedField, ChosenField, IdField, TextField, TruthField, WholeNumberField

NAME_CHARACTERS_MAX = 200


class ContextInput(ReadingInput):
    """A wish for a context; null and absent mean what the budget profile says."""

    query = CheckedField(rule=query_or_nothing, shape={"type": "string"}, required=False, allow_null=True, default=None)
    max_tokens = WholeNumberField(
        minimum=1, required=False, allow_null=True, default=None, help_text="1 to the model's context window."
    )
    model = TextField(max_length=NAME_CHARACTERS_MAX, required=False, allow_null=True, default=None)
    profile = ChosenField(choices=[SCORING_PROFILE_NAME], required=False, allow_null=True, default=None)
    budget_profile = TextField(max_length=64, required=False, allow_null=True, default=None)
    packer = ChosenField(choices=BudgetProfile.Packer.values, required=False, allow_null=True, default=None)
    ordering = ChosenField(choices=ORDERINGS, required=False, allow_null=True, default=None)
    render = ChosenField(choices=STYLES, required=False, allow_null=True, default=DEFAULT_RENDER)
    include_tenant_memo = TruthField(required=False, allow_null=True, default=None)
    include_memories_top_k = WholeNumberField(
        minimum=1, maximum=TOP_K_MAX, required=False, allow_null=True, default=None
    )
    stable_with = IdField(
        required=False, allow_null=True, default=None, help_text="Id of the context to keep order with."
    )
    explain = TruthField(required=False, default=False)
    preview = TruthField(required=False, default=False, help_text="Nothing is stored or counted; `id` is null.")


class ContextShape(serializers.Serializer[Any]):
    """A context."""

    id = serializers.UUIDField(allow_null=True)
    text = serializers.CharField()
    blocks = BlockShape(many=True)
    omitted = OmissionShape(many=True)
    budget = BudgetShape()
    profile = NamedVersionShape()
    budget_profile = NamedVersionShape()
    warnings = WarningShape(many=True)
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step.")
    explain = serializers.DictField(required=False, help_text="With `explain`: every candidate and the plan.")
