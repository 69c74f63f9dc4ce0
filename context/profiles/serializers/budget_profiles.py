"""Budget profiles and whom they are for: what admins send about them and what agents get."""

from typing import Any

from rest_framework import serializers

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.models.assignments import ProfileAssignment
from context.profiles.serializers.fields import ProfileRuleError, input_field, output_field, profile_name_field
from context.profiles.versions import ProfileFieldComparison
from context.services.profiles.compaction_policy import POLICY_FIELDS, problems_of_policy
from context.services.profiles.fields import BUDGET_FIELDS, SUMMARY_LEVELS_MAX
from context.services.profiles.sections import SECTION_TOKENS_MAX, SECTIONS, problems_of_sections
from memories.tenancy.serializers.keys import KEY_ID_CHARACTERS_MAX
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
    format_utc,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

#: What stands after `budget-profiles/` beside names.
_RESERVED_NAMES = ("assignments",)
VERSION_MAX = 2**31 - 1
ROOM_SHAPE = {
    "oneOf": [
        {"type": "object", "properties": {"tokens": {"type": "integer", "minimum": 0, "maximum": SECTION_TOKENS_MAX}}},
        {"type": "object", "properties": {"share": {"type": "number", "minimum": 0, "maximum": 1}}},
    ]
}


def _sections(value: Any) -> dict[str, Any]:
    for problem in problems_of_sections(value):
        raise ProfileRuleError(problem.code, problem.detail)
    return dict(value)


def _policy(value: Any) -> dict[str, Any]:
    for problem in problems_of_policy(value):
        raise ProfileRuleError(problem.code, f"{problem.field}: {problem.detail}" if problem.field else problem.detail)
    return dict(value)


#: The numbers of a budget profile that need a rule of their own.
_POLICY_SHAPE = {
    "type": "object",
    "properties": {name: {**field.shape, "default": field.default} for name, field in POLICY_FIELDS.items()},
    "additionalProperties": False,
}
_SECTIONS_SHAPE = {"type": "object", "properties": dict.fromkeys(SECTIONS, ROOM_SHAPE), "additionalProperties": False}


def _choices(name: str) -> list[str]:
    """Return the words that a column takes; none for a column that is no choice."""
    return [value for value, _ in BudgetProfile._meta.get_field(name).choices or ()]  # type: ignore[union-attr]


def _input_field(name: str) -> serializers.Field[Any, Any, Any, Any]:
    described = BUDGET_FIELDS[name]
    kwargs: dict[str, Any] = {"required": False, "help_text": described.input_help}
    if name == "sections":
        return RuleCheckedField(rule=_sections, shape=_SECTIONS_SHAPE, **kwargs)
    if name == "compaction":
        return RuleCheckedField(rule=_policy, shape=_POLICY_SHAPE, **kwargs)
    if name == "include_summaries_at":
        level = StrictIntegerField(minimum=int(described.least), maximum=int(described.most))
        return serializers.ListField(child=level, max_length=SUMMARY_LEVELS_MAX, **kwargs)
    return input_field(described, _choices(name))


class BudgetProfileChanges(StrictSerializer):
    """The numbers of a budget profile: only the fields that are there."""

    def get_fields(self) -> dict[str, Any]:
        """Return a field for every number that an operator tunes, then the declared ones."""
        return {name: _input_field(name) for name in BUDGET_FIELDS} | super().get_fields()


class BudgetProfileInput(BudgetProfileChanges):
    """A new budget profile: another one's numbers with changes."""

    name = profile_name_field()
    based_on = profile_name_field(required=False, default=DEFAULT_BUDGET_PROFILE_NAME)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a name that is an address of its own."""
        if attrs["name"] in _RESERVED_NAMES:
            detail = serializers.ErrorDetail("This name is an address of its own.", "reserved_name")
            raise serializers.ValidationError({"name": [detail]})
        return attrs


class ProfileListInput(PageInput):
    """The query parameters of the list of budget profiles, and of the versions of one."""


class ProfileRollBackInput(StrictSerializer):
    """Which version to put into force again; 0 of `default` are the numbers of the code."""

    version = StrictIntegerField(minimum=0, maximum=VERSION_MAX)


class ProfileComparisonInput(StrictSerializer):
    """Two versions of one budget profile, or of two."""

    a = StrictIntegerField(minimum=0, maximum=VERSION_MAX, takes_text=True)
    b = StrictIntegerField(minimum=0, maximum=VERSION_MAX, takes_text=True)
    other = profile_name_field(required=False, help_text="The profile that `b` is a version of; absent: the same.")


class AssignmentTargetInput(StrictSerializer):
    """Whom a budget profile is for: a key by its id, or a partition and all below it ("" is the tenant)."""

    key = StrictTextField(min_length=1, max_length=KEY_ID_CHARACTERS_MAX, required=False, allow_null=True, default=None)
    partition = path_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require exactly one target."""
        if (attrs["key"] is None) == (attrs["partition"] is None):
            detail = serializers.ErrorDetail("Give either key or partition.", "one_target")
            raise serializers.ValidationError({"key": [detail]})
        return attrs


class BudgetProfileAssignmentInput(AssignmentTargetInput):
    """A budget profile for a target."""

    budget_profile = profile_name_field()


class AssignmentListInput(PageInput):
    """The query parameters of the list of assignments."""

    history = StrictBooleanField(required=False, default=False, takes_text=True, help_text="Ended ones too.")


def serialize_budget_profile(row: BudgetProfile) -> dict[str, Any]:
    """Return one version of a budget profile; version 0 was never saved."""
    return {
        "name": row.name,
        "version": row.version,
        **row.tuned_numbers,
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
        "created_by": row.created_by,
    }


def serialize_profile_comparison(rows: list[ProfileFieldComparison]) -> list[dict[str, Any]]:
    """Return the numbers of two versions, field by field."""
    return [{"field": row.field, "a": row.left, "b": row.right, "differs": row.differs} for row in rows]


def serialize_budget_assignment(row: BudgetProfileAssignment) -> dict[str, Any]:
    """Return an assignment; the row was read `with_keys`."""
    return {"id": row.pk, "budget_profile": row.profile_name, **serialize_assignment(row)}


def serialize_assignment(row: ProfileAssignment) -> dict[str, Any]:
    """Whom any profile is for, since when and by whom."""
    return {
        "key": row.api_key.prefix if row.api_key else None,
        "partition": row.partition_path,
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
        "created_by": row.created_by,
    }


class BudgetProfileOutput(serializers.Serializer[Any]):
    """One version of a budget profile."""

    name = serializers.CharField()
    version = serializers.IntegerField(help_text="0: never saved, the numbers of the code.")
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while in force.")
    created_by = serializers.CharField(allow_blank=True)

    def get_fields(self) -> dict[str, Any]:
        """Return a field for every number, after name and version."""
        declared = super().get_fields()
        named = {name: declared.pop(name) for name in ("name", "version")}
        return named | {name: output_field(each, _choices(name)) for name, each in BUDGET_FIELDS.items()} | declared


class BudgetProfilePageOutput(serializers.Serializer[Any]):
    """A page of budget profiles by name, or of the versions of one, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = BudgetProfileOutput(many=True)


class ComparedProfileVersionOutput(serializers.Serializer[Any]):
    """Which version of which profile."""

    name = serializers.CharField()
    version = serializers.IntegerField()


class ComparedProfileFieldOutput(serializers.Serializer[Any]):
    """One number of both versions; `a` and `b` are of the field's own type."""

    field = serializers.CharField()
    a = serializers.JSONField()
    b = serializers.JSONField()
    differs = serializers.BooleanField()


class ProfileComparisonOutput(serializers.Serializer[Any]):
    """Two versions, number by number."""

    a = ComparedProfileVersionOutput()
    b = ComparedProfileVersionOutput()
    fields = ComparedProfileFieldOutput(many=True)  # type: ignore[assignment]


class AssignmentOutput(serializers.Serializer[Any]):
    """Whom any profile is for; exactly one of key and partition is there."""

    id = serializers.IntegerField()
    key = serializers.CharField(allow_null=True, help_text="Id of the key.")
    partition = serializers.CharField(allow_null=True, help_text='"" is the whole tenant.')
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while in force.")
    created_by = serializers.CharField(allow_blank=True)


class BudgetProfileAssignmentOutput(AssignmentOutput):
    """Whom a budget profile is for."""

    budget_profile = serializers.CharField()


class BudgetProfileAssignmentPageOutput(serializers.Serializer[Any]):
    """A page of assignments, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = BudgetProfileAssignmentOutput(many=True)
