"""Input and output of a context request, and the fields that other inputs share with it."""

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
    StrictListField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

PROFILE_NAME_CHARACTERS_MAX = 200
#: The arguments of a field that may be null or absent, with the same meaning.
OPTIONAL: dict[str, Any] = {"allow_null": True, "default": None}


def validate_query_text(value: Any) -> str:
    """Return a text to search for, normalised. Raises `ContentError`."""
    check_content(value)
    return normalise_content(value)


def validate_optional_query(value: Any) -> str:
    """Return a text to search for, normalised; "" for a blank one. Raises `ContentError`."""
    return "" if isinstance(value, str) and not value.strip() else validate_query_text(value)


def profile_field() -> StrictTextField:
    """Return the field of a published scoring profile's name; null is the assigned one, else the default."""
    return StrictTextField(
        max_length=64,
        **OPTIONAL,
        help_text="A published scoring profile; default: the one assigned to the key or the partition, else adr-0040.",
    )


def require_exactly_one(attrs: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a body that gives none of `names`, or several of them."""
    if sum(attrs.get(name) is not None for name in names) != 1:
        raise serializers.ValidationError(f"Give one of {', '.join(names)}.", "one_of")


class WindowTokensField(StrictIntegerField):
    """A number of tokens. Its range depends on the model, so the request that knows the model checks both ends."""

    def check_range(self, number: int) -> None:
        """Accept any integer."""


class FocusInput(StrictSerializer):
    """What a context is about: a memory, a summary or a partition."""

    memory_id = StrictUuidField(**OPTIONAL)
    summary_id = StrictUuidField(**OPTIONAL)
    partition = path_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one."""
        require_exactly_one(attrs, ("memory_id", "summary_id", "partition"))
        return attrs


class ContextInput(PartitionFilterInput):
    """A context request; null and absent mean the value of the budget profile."""

    query = RuleCheckedField(
        rule=validate_optional_query,
        shape={"type": "string"},
        **OPTIONAL,
        help_text="Text to search for. Without it, the context has the memories with the highest scores of the"
        " partition, at most `include_memories_top_k`.",
    )
    focus = FocusInput(**OPTIONAL)
    max_tokens = WindowTokensField(
        minimum=1, **OPTIONAL, help_text="1 to the model's context window; default: that of the budget profile."
    )
    model = StrictTextField(
        max_length=PROFILE_NAME_CHARACTERS_MAX,
        **OPTIONAL,
        help_text="The model that reads the context: it sets the tokenizer and the window. If it is unknown,"
        " `warnings` says what is used instead.",
    )
    profile = profile_field()
    budget_profile = StrictTextField(max_length=64, **OPTIONAL)
    packer = StrictChoiceField(choices=BudgetProfile.Packer.values, **OPTIONAL)
    ordering = StrictChoiceField(choices=ORDERINGS, **OPTIONAL)
    render = StrictChoiceField(choices=RENDER_STYLES, allow_null=True, default=DEFAULT_RENDER)
    include_tenant_memo = StrictBooleanField(**OPTIONAL)
    include_memories_top_k = StrictIntegerField(
        minimum=1,
        maximum=TOP_K_MAX,
        **OPTIONAL,
        help_text="Maximum number of memories of a context without query; with a query, the budget sets it.",
    )
    include_summaries_at = StrictListField(
        child=StrictIntegerField(minimum=0, maximum=SUMMARY_LEVEL_MAX),
        **OPTIONAL,
        max_length=SUMMARY_LEVELS_MAX,
        help_text="Levels of the partition tree whose summaries are included; 0 is the first segment.",
    )
    include_linked_memories = StrictBooleanField(
        **OPTIONAL, help_text="Whether to include the memories that the focus links to."
    )
    include_memory_days = StrictBooleanField(**OPTIONAL, help_text="Whether to write the day (UTC) before each memory.")
    summary_style = StrictChoiceField(choices=PartitionSummary.Style.values, **OPTIONAL)
    as_of = StrictDateTimeField(
        is_over=True,
        **OPTIONAL,
        help_text="Read what was true at this time, without counting retrievals. Must not be in the future.",
    )
    stable_with = StrictUuidField(**OPTIONAL, help_text="Id of the context whose order is kept.")
    explain = StrictBooleanField(default=False, help_text="Whether to return all candidates and the retrieval plan.")
    preview = StrictBooleanField(default=False, help_text="Nothing is stored or counted; `id` is null.")


class CandidateOutput(serializers.Serializer[Any]):
    """One candidate with its scores, ranks and outcome; ranks count from 1."""

    anchor = AnchorOutput()
    tokens = serializers.IntegerField()
    pinned = serializers.BooleanField()
    score = serializers.FloatField()
    score_breakdown = ScoreBreakdownOutput()
    vector_rank = serializers.IntegerField(allow_null=True)
    text_rank = serializers.IntegerField(allow_null=True)
    fused_score = serializers.FloatField(allow_null=True)
    outcome = serializers.CharField(help_text="`kept`, or why it is excluded.")
    superseded_by = serializers.UUIDField(
        allow_null=True, help_text="The memory that superseded this one and therefore ranks before it."
    )


class OptimalityOutput(serializers.Serializer[Any]):
    """How close the packer's choice is to the best sum of scores."""

    total_score = serializers.FloatField()
    optimal_score = serializers.FloatField(allow_null=True, help_text="The best possible sum; null if not proven.")
    upper_bound = serializers.FloatField(help_text="Upper bound of any choice.")
    gap = serializers.FloatField(help_text="The bound minus the total; negative if shortening included more memories.")


class ExplainOutput(serializers.Serializer[Any]):
    """How a context was assembled."""

    candidates = CandidateOutput(many=True)
    plan = serializers.DictField(help_text="How the search ran.")
    optimality = OptimalityOutput(allow_null=True, help_text="Null unless the context request asked for it.")


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
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step and in `total`.")
    stable_prefix_tokens = serializers.IntegerField(
        required=False, help_text="With `stable_with`: leading tokens that match the earlier context."
    )
    explain = ExplainOutput(required=False, help_text="With `explain`.")
