"""Inputs and outputs of the API for budget profiles, scoring profiles and their assignments."""

from typing import Any

from rest_framework import serializers

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, ScoringProfileVersion
from context.profiles.serializers.fields import input_field, output_field, profile_name_field, unchecked_field
from context.services.profiles.compaction_policy import POLICY_FIELDS
from context.services.profiles.fields import BUDGET_FIELDS, SUMMARY_LEVELS_MAX
from context.services.profiles.publishing import BETTER, TEXT_BOUNDS, UNSURE, WORSE
from context.services.profiles.scoring_profiles import (
    COEFFICIENT_MAX,
    DEFAULT_SCORING_PROFILE_NAME,
    PART_NAMES,
    SCORING_FIELDS,
)
from context.services.profiles.sections import SECTION_TOKENS_MAX, SECTIONS
from memories.tenancy.serializers.api_keys import KEY_ID_CHARACTERS_MAX
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import INTEGER_MAX, StrictBooleanField, StrictIntegerField, StrictTextField
from memory_platform.rest.serializers import StrictSerializer


def _object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _by_part(low: float, high: float) -> dict[str, Any]:
    number = {"type": "number", "minimum": low, "maximum": high}
    return _object_of(dict.fromkeys(PART_NAMES, number))


ROOM_SHAPE = {
    "oneOf": [
        {"type": "object", "properties": {"tokens": {"type": "integer", "minimum": 0, "maximum": SECTION_TOKENS_MAX}}},
        {"type": "object", "properties": {"share": {"type": "number", "minimum": 0, "maximum": 1}}},
    ]
}
#: The JSON schemas of the numbers that are groups.
_GROUP_SHAPES = {
    "sections": _object_of(dict.fromkeys(SECTIONS, ROOM_SHAPE)),
    "compaction": _object_of({name: {**each.shape, "default": each.default} for name, each in POLICY_FIELDS.items()}),
    "half_life_days_by_kind": {"type": "object", "additionalProperties": SCORING_FIELDS["half_life_days"].shape},
    "coefficients": _by_part(-COEFFICIENT_MAX, COEFFICIENT_MAX),
    "conversation_weights": _by_part(0, 1),
}


def _version_field(minimum: int = 0, **kwargs: Any) -> StrictIntegerField:
    return StrictIntegerField(minimum=minimum, maximum=INTEGER_MAX, **kwargs)


def _choices(name: str) -> list[str]:
    """Return the values that a column accepts; empty for a column that is not a choice."""
    return [value for value, _ in BudgetProfile._meta.get_field(name).choices or ()]  # type: ignore[union-attr]


def _budget_input_field(name: str) -> serializers.Field[Any, Any, Any, Any]:
    described = BUDGET_FIELDS[name]
    if name in _GROUP_SHAPES:
        return unchecked_field(_GROUP_SHAPES[name], help_text=described.input_help)
    if name == "include_summaries_at":
        level = StrictIntegerField(minimum=int(described.least), maximum=int(described.most))
        return serializers.ListField(
            child=level, max_length=SUMMARY_LEVELS_MAX, required=False, help_text=described.input_help
        )
    return input_field(described, _choices(name))


class BudgetProfileChanges(StrictSerializer):
    """The numbers of a budget profile; absent fields do not change."""

    def get_fields(self) -> dict[str, Any]:
        """Return a field for every number that an operator tunes, then the declared ones."""
        return {name: _budget_input_field(name) for name in BUDGET_FIELDS} | super().get_fields()


class BudgetProfileInput(BudgetProfileChanges):
    """A new budget profile: the numbers of another one with changes."""

    name = profile_name_field()
    based_on = profile_name_field(default=DEFAULT_BUDGET_PROFILE_NAME)


class ScoringProfileChanges(StrictSerializer):
    """The numbers of a scoring profile; absent fields do not change."""

    weights = unchecked_field(
        _by_part(0, 1), help_text="The weight of each component. The weights sum to 1; absent components weigh 0."
    )

    def get_fields(self) -> dict[str, Any]:
        """Return the weights, a field for every other number, then the fields of the subclass."""
        declared = super().get_fields()
        numbers = {
            name: unchecked_field(
                _GROUP_SHAPES.get(name) or each.shape,
                allow_null=each.default is None,
                help_text=each.input_help or None,
            )
            for name, each in SCORING_FIELDS.items()
        }
        return {"weights": declared.pop("weights")} | numbers | declared


class ScoringProfileInput(ScoringProfileChanges):
    """A new scoring profile: the numbers of another one with changes, as a draft."""

    name = profile_name_field()
    based_on = profile_name_field(default=DEFAULT_SCORING_PROFILE_NAME)
    based_on_version = _version_field(1, default=None, help_text="Default: the active version.")


class ProfileRollBackInput(StrictSerializer):
    """The version to activate again; version 0 of `default` contains the built-in numbers."""

    version = _version_field()


def _argument_text(**kwargs: Any) -> StrictTextField:
    """Return the field of a text whose presence and length the action checks with the evaluation."""
    bounds = f"{TEXT_BOUNDS[0]} to {TEXT_BOUNDS[1]:,} characters"
    help_text = f"{kwargs.pop('help_text')} {bounds}."
    return StrictTextField(max_length=TEXT_BOUNDS[1], default="", help_text=help_text, **kwargs)


class ArgumentInput(StrictSerializer):
    """Why a version is published."""

    context = _argument_text(help_text="Required: the problem, and what was measured.")  # type: ignore[assignment]
    decision = _argument_text(help_text="Required: which settings change, and why.")
    consequences = _argument_text(help_text="Required: what gets better and worse, and what to watch.")


class PublishInput(StrictSerializer):
    """The version to publish, and the argument for it."""

    version = _version_field(1, default=None, help_text="Default: the newest version.")
    argument = ArgumentInput(default=dict)
    reason = _argument_text(help_text="Required where the version is worse or not clearly better.")


class RetireInput(StrictSerializer):
    """The version to retire."""

    version = _version_field(1)


class ProfileComparisonInput(StrictSerializer):
    """Two versions of one profile, or of two."""

    a = _version_field(takes_text=True)
    b = _version_field(takes_text=True)
    other = profile_name_field(
        required=False, help_text="The profile that `b` is a version of; default: the same profile."
    )


class AssignmentTargetInput(StrictSerializer):
    """The target of an assignment: a key by its id, or a partition and all below it ("" is the tenant)."""

    key = StrictTextField(min_length=1, max_length=KEY_ID_CHARACTERS_MAX, allow_null=True, default=None)
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


class ScoringAssignmentInput(AssignmentTargetInput):
    """A published scoring profile for a target."""

    profile = profile_name_field()


class AssignmentListInput(PageInput):
    """The query parameters of the list of assignments."""

    history = StrictBooleanField(default=False, takes_text=True, help_text="Include past assignments.")


class ComparedProfileVersionOutput(serializers.Serializer[Any]):
    """One version of a profile."""

    name = serializers.CharField()
    version = serializers.IntegerField()


class BudgetProfileOutput(ComparedProfileVersionOutput):
    """One version of a budget profile."""

    version = serializers.IntegerField(help_text="0: the built-in settings, never saved.")
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while active.")
    created_by = serializers.CharField(allow_blank=True)

    def get_fields(self) -> dict[str, Any]:
        """Return the declared fields, then one for every number."""
        numbers = {name: output_field(each, _choices(name)) for name, each in BUDGET_FIELDS.items()}
        return super().get_fields() | numbers


class ProvingEvaluationOutput(serializers.Serializer[Any]):
    """The evaluation that a version was published with, or that made it evaluated."""

    id = serializers.UUIDField()
    corpus = serializers.CharField(source="corpus_name")


class ArgumentOutput(serializers.Serializer[Any]):
    """Why a version was published."""

    context = serializers.CharField()  # type: ignore[assignment]
    decision = serializers.CharField()
    consequences = serializers.CharField()
    reason = serializers.CharField(
        allow_blank=True, help_text="Why it was published although it was not clearly better."
    )


class EstimateOutput(serializers.Serializer[Any]):
    """A mean over questions with the bounds of its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    questions = serializers.IntegerField()


class BudgetEvidenceOutput(serializers.Serializer[Any]):
    """The mean share of the evidence (0..1) in contexts of one budget."""

    budget = serializers.IntegerField()
    value = serializers.FloatField()
    base_value = serializers.FloatField()
    difference = EstimateOutput()


class EvidenceComparisonOutput(serializers.Serializer[Any]):
    """A version and the profile that was in use, question by question."""

    base = serializers.CharField(help_text="`name version` of the profile that was in use.")
    questions = serializers.IntegerField()
    verdict = serializers.ChoiceField(choices=[BETTER, WORSE, UNSURE])
    summary = serializers.CharField(source="__str__")
    rows = BudgetEvidenceOutput(many=True)


class ScoringProfileOutput(ComparedProfileVersionOutput):
    """One version of a scoring profile, read `with_runs`; built-in profiles have no times."""

    state = serializers.ChoiceField(choices=ScoringProfileVersion.State.values)
    is_active = serializers.BooleanField(help_text="Whether requests for the profile use it.")
    is_locked = serializers.BooleanField(source="is_shipped", help_text="Built in; copy it into a profile of your own.")
    is_calibrated = serializers.BooleanField(help_text="Whether its scores are probabilities.")
    based_on = serializers.CharField(allow_blank=True, help_text="`name version` that it was copied from.")
    adr_reference = serializers.CharField(allow_blank=True, help_text="The record in adr/ of a built-in profile.")
    argument = ArgumentOutput(source="published_argument", allow_null=True)
    comparison = EvidenceComparisonOutput(
        source="evidence_comparison", allow_null=True, help_text="The comparison with which it was published."
    )
    evaluation = ProvingEvaluationOutput(source="evaluation_run", allow_null=True)
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="When it was superseded or retired.")
    created_by = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField(allow_null=True)
    published_by = serializers.CharField(allow_blank=True)

    def get_fields(self) -> dict[str, Any]:
        """Return the declared fields, then one for every number."""
        numbers = {name: output_field(each, source=f"numbers.{name}") for name, each in SCORING_FIELDS.items()}
        for name in ("weights", "half_life_days_by_kind", "coefficients", "conversation_weights"):
            number, is_nullable = serializers.FloatField(), name in ("coefficients", "conversation_weights")
            numbers[name] = serializers.DictField(child=number, source=f"numbers.{name}", allow_null=is_nullable)
        return super().get_fields() | numbers


class ComparedProfileFieldOutput(serializers.Serializer[Any]):
    """One number of both versions; `a` and `b` have the type of the number."""

    field = serializers.CharField()
    a = serializers.JSONField(source="left")
    b = serializers.JSONField(source="right")
    differs = serializers.BooleanField()


class ProfileComparisonOutput(serializers.Serializer[Any]):
    """Two versions, number by number."""

    a = ComparedProfileVersionOutput()
    b = ComparedProfileVersionOutput()
    fields = ComparedProfileFieldOutput(many=True)  # type: ignore[assignment]


class AssignmentOutput(serializers.Serializer[Any]):
    """An assignment, read `with_keys`; either `key` or `partition` is null."""

    id = serializers.IntegerField()
    key = serializers.CharField(source="api_key.prefix", allow_null=True, help_text="Id of the key.")
    partition = serializers.CharField(source="partition_path", allow_null=True, help_text='"" is the whole tenant.')
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while active.")
    created_by = serializers.CharField(allow_blank=True)


class BudgetProfileAssignmentOutput(AssignmentOutput):
    """The assignment of a budget profile."""

    budget_profile = serializers.CharField(source="profile_name")


class ScoringAssignmentOutput(AssignmentOutput):
    """The assignment of a scoring profile."""

    profile = serializers.CharField(source="profile_name")
