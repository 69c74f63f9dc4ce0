"""Input and output of the search endpoint."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from context.assembly.serializers.contexts import OPTIONAL, profile_field, validate_query_text
from context.assembly.serializers.shapes import ScoreBreakdownOutput, WarningOutput
from context.services.profiles.fields import TOP_K_MAX
from memories.services.search.filters import FILTER_FIELDS, FilterError, parse_filters
from memories.store.serializers.answers import MemoryOutput
from memories.store.serializers.inputs import AS_OF_HELP
from memories.tenancy.serializers.partitions import PartitionFilterInput
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictField,
    StrictIntegerField,
    StrictNumberField,
    text_error,
)
from memory_platform.rest.request_errors import printable_field_name

_MODES = ("hybrid", "vector", "lexical")
SEARCH_TOP_K_DEFAULT = 10
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
    """`{field: value or {gte, lte, in}}`; errors name the field."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the filters unchanged, after checking them."""
        if not isinstance(data, dict):
            self.refuse("not_an_object", "Filters must be an object of fields and values.")
        faults: dict[str, Any] = {}
        for name, condition in data.items():
            if fault := text_error(name):
                faults[printable_field_name(name)] = [serializers.ErrorDetail(fault[1], code=fault[0])]
                continue
            try:
                parse_filters({name: condition})
            except FilterError as error:
                faults[printable_field_name(name)] = [serializers.ErrorDetail(error.detail, code=error.code)]
        if faults:
            raise serializers.ValidationError(faults)
        return data


class SearchInput(PartitionFilterInput):
    """A search."""

    query = RuleCheckedField(rule=validate_query_text, shape={"type": "string", "minLength": 1})
    filters = FiltersField(default=dict)
    top_k = StrictIntegerField(minimum=1, maximum=TOP_K_MAX, default=SEARCH_TOP_K_DEFAULT)
    threshold = StrictNumberField(minimum=0, maximum=1, **OPTIONAL)
    mode = StrictChoiceField(choices=_MODES, default=_MODES[0])
    profile = profile_field()
    as_of = StrictDateTimeField(is_over=True, **OPTIONAL, help_text=AS_OF_HELP)
    explain = StrictBooleanField(default=False)


class SearchHitOutput(MemoryOutput):
    """A memory with its score."""

    score = serializers.FloatField()
    score_breakdown = ScoreBreakdownOutput()


class MemorySearchOutput(serializers.Serializer[Any]):
    """Hits, best first."""

    results = SearchHitOutput(many=True)
    warnings = WarningOutput(many=True)
