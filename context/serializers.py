"""What agents send to search and to get a context, and how the answers look."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from context.models import TOP_K_MAX
from context.results import DEFAULT_RENDER, SCORING_PROFILE_NAME
from context.sections import PACKERS
from context.services.ordering import ORDERINGS
from context.services.rendering import STYLES
from memories.serializers.answers import MemoryShape
from memories.serializers.partitions import ReadingInput
from memories.services.content import check_content, normalise_content
from memories.services.filters import FILTER_FIELDS, FilterError, parse_filters
from memory_platform.rest.errors import printable
from memory_platform.rest.fields import (
    CheckedField,
    ChosenField,
    IdField,
    NumberField,
    StrictField,
    TextField,
    TruthField,
    WholeNumberField,
    text_fault,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.strict import StrictSerializer

MODES = ("hybrid", "vector", "lexical")
SEARCH_TOP_K_DEFAULT = 10
NAME_CHARACTERS_MAX = 200


def _query(value: Any) -> str:
    check_content(value)
    return normalise_content(value)


def _query_or_nothing(value: Any) -> str:
    return "" if isinstance(value, str) and not value.strip() else _query(value)


COMPARISON = {"type": "object", "properties": {"gte": {}, "lte": {}, "in": {"type": "array", "items": {}}}}


@extend_schema_field(
    {
        "type": "object",
        "description": f"Fields: {', '.join(FILTER_FIELDS)}, metadata.<key> (a value or `in`).",
        "additionalProperties": {
            "anyOf": [{"type": ["string", "number", "boolean", "null"]}, {**COMPARISON, "additionalProperties": False}]
        },
    }
)
class FiltersField(StrictField):
    """`{field: value or {gte, lte, in}}`; faults are named by field."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The filters as they came, checked."""
        if not isinstance(data, dict):
            self.refuse("not_an_object", "Filters are an object of fields and values.")
        faults: dict[str, Any] = {}
        for name, wanted in data.items():
            if fault := text_fault(name):
                faults[printable(name)] = [serializers.ErrorDetail(fault[1], code=fault[0])]
                continue
            try:
                parse_filters({name: wanted})
            except FilterError as error:
                detail = f"Known filters: {', '.join([*FILTER_FIELDS, 'metadata.<key>'])}."
                detail = detail if error.code == "unknown_field" else "The field cannot be compared like that."
                faults[printable(name)] = [serializers.ErrorDetail(detail, code=error.code)]
        if faults:
            raise serializers.ValidationError(faults)
        return data


class SearchInput(ReadingInput):
    """A search."""

    query = CheckedField(rule=_query, shape={"type": "string", "minLength": 1})
    filters = FiltersField(required=False, default=dict)
    top_k = WholeNumberField(minimum=1, maximum=TOP_K_MAX, required=False, default=SEARCH_TOP_K_DEFAULT)
    threshold = NumberField(minimum=0, maximum=1, required=False, allow_null=True, default=None)
    mode = ChosenField(choices=MODES, required=False, default=MODES[0])
    profile = ChosenField(choices=[SCORING_PROFILE_NAME], required=False, default=SCORING_PROFILE_NAME)
    explain = TruthField(required=False, default=False)


class ContextInput(ReadingInput):
    """A wish for a context; null and absent mean what the budget profile says."""

    query = CheckedField(
        rule=_query_or_nothing, shape={"type": "string"}, required=False, allow_null=True, default=None
    )
    max_tokens = WholeNumberField(
        minimum=1, required=False, allow_null=True, default=None, help_text="1 to the model's context window."
    )
    model = TextField(max_length=NAME_CHARACTERS_MAX, required=False, allow_null=True, default=None)
    profile = ChosenField(choices=[SCORING_PROFILE_NAME], required=False, allow_null=True, default=None)
    budget_profile = TextField(max_length=64, required=False, allow_null=True, default=None)
    packer = ChosenField(choices=list(PACKERS), required=False, allow_null=True, default=None)
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


class ReceiptInput(StrictSerializer):
    """The query parameters of one receipt."""

    explain = TruthField(required=False, default=False, takes_text=True)


class ReceiptsInput(PageInput):
    """The query parameters of the list of receipts."""


class BreakdownShape(serializers.Serializer[Any]):
    """The five parts of a score, each 0..1, before their weights."""

    relevance = serializers.FloatField()
    recency = serializers.FloatField()
    usefulness = serializers.FloatField()
    confidence = serializers.FloatField()
    frequency = serializers.FloatField()


class SearchHitShape(MemoryShape):
    """A memory with its score."""

    score = serializers.FloatField()
    score_breakdown = BreakdownShape()


class WarningShape(serializers.Serializer[Any]):
    """Something to know that is no error."""

    code = serializers.CharField()
    detail = serializers.CharField()


class SearchAnswerShape(serializers.Serializer[Any]):
    """Hits, best first."""

    results = SearchHitShape(many=True)
    warnings = WarningShape(many=True)


class AnchorShape(serializers.Serializer[Any]):
    """What a block shows: the row and its version."""

    type = serializers.ChoiceField(choices=["tenant_memo", "memory"])
    id = serializers.CharField()
    version = serializers.IntegerField()


class BlockShape(serializers.Serializer[Any]):
    """A kept item."""

    kind = serializers.CharField()
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


class ReceiptShape(ContextShape):
    """A context read back."""

    created_at = serializers.DateTimeField()
    request = serializers.DictField()
    is_verified = serializers.BooleanField(help_text="The text is byte for byte the one that was given.")


class ReceiptRowShape(serializers.Serializer[Any]):
    """A receipt in a list."""

    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    query = serializers.CharField()
    partition = serializers.CharField()
    budget = BudgetShape()
    profile = NamedVersionShape()
    budget_profile = NamedVersionShape()
    block_count = serializers.IntegerField()
    warnings = WarningShape(many=True)


class ReceiptPageShape(serializers.Serializer[Any]):
    """A page of receipts, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ReceiptRowShape(many=True)
