"""Input and output of a request for a context, and the fields that other inputs share with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from context.assembly.serializers.shapes import (
    AnchorOutput,
    BlockOutput,
    ContextBudgetOutput,
    ExclusionOutput,
    ProfileVersionOutput,
    ScoreBreakdownOutput,
    WarningOutput,
)
from context.models import BudgetProfile
from context.receipts.results import DEFAULT_RENDER
from context.services.ordering import ORDERINGS
from context.services.profiles.fields import SUMMARY_LEVEL_MAX, SUMMARY_LEVELS_MAX, TOP_K_MAX
from context.services.rendering import RENDER_STYLES
from memories.models import PartitionSummary
from memories.services.store.content import check_content, normalise_content
from memories.tenancy.serializers.partitions import PartitionFilterInput, path_field
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

PROFILE_NAME_CHARACTERS_MAX = 200


def validate_query_text(value: Any) -> str:
    """Return a text to search for, normalised. Raises `ContentError`."""
    check_content(value)
    return normalise_content(value)


def validate_optional_query(value: Any) -> str:
    """Return the same, or "" for a blank text."""
    return "" if isinstance(value, str) and not value.strip() else validate_query_text(value)


def profile_field() -> StrictTextField:
    """Return the field of a published scoring profile's name; null is the assigned one, else the default."""
    return StrictTextField(
        max_length=64,
        required=False,
        allow_null=True,
        default=None,
        help_text="A published scoring profile; default: the one assigned to the key or the partition, else adr-0040.",
    )


def require_exactly_one(attrs: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a body that gives none of `names`, or several of them."""
    if sum(attrs.get(name) is not None for name in names) != 1:
        raise serializers.ValidationError(f"Give one of {', '.join(names)}.", "one_of")


class FocusInput(StrictSerializer):
    """What a context is about: a memory, a summary or a partition."""

    memory_id = StrictUuidField(required=False, allow_null=True)
    summary_id = StrictUuidField(required=False, allow_null=True)
    partition = path_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one."""
        require_exactly_one(attrs, ("memory_id", "summary_id", "partition"))
        return attrs


class ContextInput(PartitionFilterInput):
    """A request for a context; null and absent mean the value of the budget profile."""

    query = RuleCheckedField(
        rule=validate_optional_query, shape={"type": "string"}, required=False, allow_null=True, default=None
    )
    focus = FocusInput(required=False, allow_null=True, default=None)
    max_tokens = StrictIntegerField(
        minimum=1, required=False, allow_null=True, default=None, help_text="1 to the model's context window."
    )
    model = StrictTextField(max_length=PROFILE_NAME_CHARACTERS_MAX, required=False, allow_null=True, default=None)
    profile = profile_field()
    budget_profile = StrictTextField(max_length=64, required=False, allow_null=True, default=None)
    packer = StrictChoiceField(choices=BudgetProfile.Packer.values, required=False, allow_null=True, default=None)
    ordering = StrictChoiceField(choices=ORDERINGS, required=False, allow_null=True, default=None)
    render = StrictChoiceField(choices=RENDER_STYLES, required=False, allow_null=True, default=DEFAULT_RENDER)
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
    include_linked_memories = StrictBooleanField(
        required=False, allow_null=True, default=None, help_text="The memories that the focus links to."
    )
    summary_style = StrictChoiceField(
        choices=PartitionSummary.Style.values, required=False, allow_null=True, default=None
    )
    as_of = StrictDateTimeField(
        is_over=True,
        required=False,
        allow_null=True,
        default=None,
        help_text="What was true then; nothing is counted. Not in the future.",
    )
    stable_with = StrictUuidField(
        required=False, allow_null=True, default=None, help_text="Id of the context to keep order with."
    )
    explain = StrictBooleanField(required=False, default=False)
    preview = StrictBooleanField(required=False, default=False, help_text="Nothing is stored or counted; `id` is null.")


class CandidateOutput(serializers.Serializer[Any]):
    """One candidate with all it was judged by; ranks count from 1."""

    anchor = AnchorOutput()
    tokens = serializers.IntegerField()
    pinned = serializers.BooleanField()
    score = serializers.FloatField()
    score_breakdown = ScoreBreakdownOutput()
    vector_rank = serializers.IntegerField(allow_null=True)
    text_rank = serializers.IntegerField(allow_null=True)
    fused_score = serializers.FloatField(allow_null=True)
    outcome = serializers.CharField(help_text="`kept`, or why it was left out.")


class OptimalityOutput(serializers.Serializer[Any]):
    """How good the packer's choice was by the sum of scores."""

    total_score = serializers.FloatField()
    optimal_score = serializers.FloatField(allow_null=True, help_text="The best possible sum; null: not proven.")
    upper_bound = serializers.FloatField(help_text="No choice can have more.")
    gap = serializers.FloatField(help_text="What lacks of the bound; below 0 where shortening let more in.")


class ExplainOutput(serializers.Serializer[Any]):
    """How a context came about."""

    candidates = CandidateOutput(many=True)
    plan = serializers.DictField(help_text="How the search ran.")
    optimality = OptimalityOutput(allow_null=True, help_text="Null where it was not asked for with the context.")


class ContextOutput(serializers.Serializer[Any]):
    """A context."""

    id = serializers.UUIDField(allow_null=True)
    text = serializers.CharField()
    blocks = BlockOutput(many=True)
    omitted = ExclusionOutput(many=True)
    budget = ContextBudgetOutput()
    profile = ProfileVersionOutput()
    budget_profile = ProfileVersionOutput()
    warnings = WarningOutput(many=True)
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step.")
    stable_prefix_tokens = serializers.IntegerField(
        required=False, help_text="With `stable_with`: tokens of the text's beginning that are the earlier context's."
    )
    explain = ExplainOutput(required=False, help_text="With `explain`.")
