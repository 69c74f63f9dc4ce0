"""Budget profiles and whom they are for: what admins send about them and what agents get."""

from typing import Any

from rest_framework import serializers

from context.models import (
    DEFAULT_BUDGET_PROFILE_NAME,
    ELASTIC_ITEMS_MAX,
    ELASTIC_TOKENS_MAX,
    OVERFETCH_RATIO_MAX,
    OVERFETCH_RATIO_MIN,
    RECEIPT_COUNT_MAX,
    RECEIPT_DAYS_MAX,
    SUMMARY_LEVELS_MAX,
    TOKENS_MAX,
    TOKENS_MIN,
    TOP_K_MAX,
    BudgetProfile,
    BudgetProfileAssignment,
)
from context.models.assignments import ProfileAssignment
from context.profiles.budget_profiles import SUMMARY_LEVEL_MAX, ProfileFieldComparison, budget_profile_settings
from context.services.profiles.compaction_policy import BOUNDS, DECISION_POLICIES, DEFAULT_POLICY, problems_of_policy
from context.services.profiles.sections import SECTION_TOKENS_MAX, SECTIONS, problems_of_sections
from memories.models import PartitionSummary
from memories.tenancy.serializers.keys import KEY_ID_CHARACTERS_MAX
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictNumberField,
    StrictTextField,
    format_utc,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

_NAME_PATTERN = r"[a-z][a-z0-9_-]{0,63}"
BAD_NAME = "A lower-case word of at most 64 letters, digits, _ and - is needed, such as support-short."
#: What stands after `budget-profiles/` beside names.
_RESERVED_NAMES = ("assignments",)
VERSION_MAX = 2**31 - 1
ROOM_SHAPE = {
    "oneOf": [
        {"type": "object", "properties": {"tokens": {"type": "integer", "minimum": 0, "maximum": SECTION_TOKENS_MAX}}},
        {"type": "object", "properties": {"share": {"type": "number", "minimum": 0, "maximum": 1}}},
    ]
}


class InvalidSectionsError(ValueError):
    """Rooms that cannot be given out, a policy that contradicts itself."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def _sections(value: Any) -> dict[str, Any]:
    for problem in problems_of_sections(value):
        raise InvalidSectionsError(problem.code, problem.detail)
    return dict(value)


def _policy(value: Any) -> dict[str, Any]:
    for problem in problems_of_policy(value):
        raise InvalidSectionsError(
            problem.code, f"{problem.field}: {problem.detail}" if problem.field else problem.detail
        )
    return dict(value)


def _policy_shape() -> dict[str, Any]:
    """Every number of the policy with its bounds and its default."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    properties: dict[str, dict[str, Any]] = {}
    for name, default in DEFAULT_POLICY.as_record().items():
        properties[name] = {"type": kinds[type(default)], "default": default}
        if name in BOUNDS:
            properties[name] |= dict(zip(("minimum", "maximum"), BOUNDS[name], strict=True))
    properties["decision"]["enum"] = list(DECISION_POLICIES)
    return {"type": "object", "properties": properties, "additionalProperties": False}


def profile_name_field(**kwargs: Any) -> StrictTextField:
    """The name of a profile."""
    return StrictTextField(pattern=_NAME_PATTERN, pattern_code="bad_name", pattern_detail=BAD_NAME, **kwargs)


class BudgetProfileChanges(StrictSerializer):
    """The numbers of a budget profile: only the fields that are there."""

    default_tokens = StrictIntegerField(minimum=TOKENS_MIN, maximum=TOKENS_MAX, required=False)
    sections = RuleCheckedField(
        rule=_sections,
        shape={"type": "object", "properties": dict.fromkeys(SECTIONS, ROOM_SHAPE), "additionalProperties": False},
        required=False,
        help_text="Room by section; a section that is not named takes what is left.",
    )
    include_tenant_memo = StrictBooleanField(required=False)
    include_summaries_at = serializers.ListField(
        child=StrictIntegerField(minimum=0, maximum=SUMMARY_LEVEL_MAX),
        required=False,
        max_length=SUMMARY_LEVELS_MAX,
        help_text="Levels of the partition tree, 0 being the first segment.",
    )
    summary_style = StrictChoiceField(choices=PartitionSummary.Style.values, required=False)
    include_linked_memories = StrictBooleanField(required=False)
    include_memories_top_k = StrictIntegerField(minimum=1, maximum=TOP_K_MAX, required=False)
    overfetch_ratio = StrictNumberField(minimum=OVERFETCH_RATIO_MIN, maximum=OVERFETCH_RATIO_MAX, required=False)
    minimum_score = StrictNumberField(minimum=0, maximum=1, required=False)
    pinned_share = StrictNumberField(
        minimum=0,
        maximum=1,
        required=False,
        help_text="Of the memories' room: so much of it pinned ones take before those that a query found.",
    )
    near_duplicate_threshold = StrictNumberField(minimum=0, maximum=1, required=False)
    packer = StrictChoiceField(choices=BudgetProfile.Packer.values, required=False)
    elastic_target_items = StrictIntegerField(minimum=1, maximum=ELASTIC_ITEMS_MAX, required=False)
    elastic_min_tokens = StrictIntegerField(minimum=1, maximum=ELASTIC_TOKENS_MAX, required=False)
    elastic_max_tokens = StrictIntegerField(minimum=1, maximum=ELASTIC_TOKENS_MAX, required=False)
    ordering = StrictChoiceField(choices=BudgetProfile.Ordering.values, required=False)
    receipt_days = StrictIntegerField(minimum=1, maximum=RECEIPT_DAYS_MAX, required=False)
    receipt_count = StrictIntegerField(minimum=1, maximum=RECEIPT_COUNT_MAX, required=False)
    compaction = RuleCheckedField(
        rule=_policy,
        shape=_policy_shape(),
        required=False,
        help_text="How sessions shrink; what is not named is the default's.",
    )


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


class BudgetProfileListInput(PageInput):
    """The query parameters of the list of budget profiles, and of the versions of one."""


class BudgetProfileRollBackInput(StrictSerializer):
    """Which version to put into force again; 0 of `default` are the numbers of the code."""

    version = StrictIntegerField(minimum=0, maximum=VERSION_MAX)


class BudgetProfileComparisonInput(StrictSerializer):
    """Two versions of one budget profile, or of two."""

    a = StrictIntegerField(minimum=0, maximum=VERSION_MAX, takes_text=True)
    b = StrictIntegerField(minimum=0, maximum=VERSION_MAX, takes_text=True)
    other = profile_name_field(required=False, help_text="The profile that `b` is a version of; absent: the same.")


class AssignmentTargetInput(StrictSerializer):
    """Whom a budget profile is for: a key by its id, or a partition and all below it ("" is the tenant)."""

    key = StrictTextField(min_length=1, max_length=KEY_ID_CHARACTERS_MAX, required=False, allow_null=True, default=None)
    partition = path_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one target."""
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
    """One version of a budget profile; version 0 was never saved."""
    return {
        "name": row.name,
        "version": row.version,
        **budget_profile_settings(row),
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
        "created_by": row.created_by,
    }


def serialize_profile_comparison(rows: list[ProfileFieldComparison]) -> list[dict[str, Any]]:
    """The numbers of two versions, field by field."""
    return [{"field": row.field, "a": row.left, "b": row.right, "differs": row.differs} for row in rows]


def serialize_budget_assignment(row: BudgetProfileAssignment) -> dict[str, Any]:
    """An assignment; the row was read `with_keys`."""
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
    default_tokens = serializers.IntegerField()
    sections = serializers.DictField()
    include_tenant_memo = serializers.BooleanField()
    include_summaries_at = serializers.ListField(child=serializers.IntegerField())
    summary_style = serializers.ChoiceField(choices=PartitionSummary.Style.values)
    include_linked_memories = serializers.BooleanField()
    include_memories_top_k = serializers.IntegerField()
    overfetch_ratio = serializers.FloatField()
    minimum_score = serializers.FloatField()
    pinned_share = serializers.FloatField(help_text="Beyond it a pinned memory competes by its score.")
    near_duplicate_threshold = serializers.FloatField()
    packer = serializers.ChoiceField(choices=BudgetProfile.Packer.values)
    elastic_target_items = serializers.IntegerField()
    elastic_min_tokens = serializers.IntegerField()
    elastic_max_tokens = serializers.IntegerField()
    ordering = serializers.ChoiceField(choices=BudgetProfile.Ordering.values)
    receipt_days = serializers.IntegerField()
    receipt_count = serializers.IntegerField()
    compaction = serializers.DictField(help_text="What differs from the default compaction policy.")
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while in force.")
    created_by = serializers.CharField(allow_blank=True)


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
