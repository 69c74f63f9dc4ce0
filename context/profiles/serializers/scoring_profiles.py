"""Scoring profiles and whom they are for: what admins send about them and what agents get."""

from typing import Any

from rest_framework import serializers

from context.models import ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.serializers.budget_profiles import (
    VERSION_MAX,
    AssignmentOutput,
    AssignmentTargetInput,
    serialize_assignment,
)
from context.profiles.serializers.fields import ProfileRuleError, output_field, profile_name_field
from context.services.profiles.scoring_profiles import (
    COEFFICIENT_MAX,
    DEFAULT_SCORING_PROFILE_NAME,
    PART_NAMES,
    SCORING_FIELDS,
)
from memory_platform.rest.fields import RuleCheckedField, StrictIntegerField, StrictTextField, format_utc, text_error
from memory_platform.rest.serializers import StrictSerializer

ADR_CHARACTERS_MAX = 16


def _by_part(low: float, high: float) -> dict[str, Any]:
    number = {"type": "number", "minimum": low, "maximum": high}
    return {"type": "object", "properties": dict.fromkeys(PART_NAMES, number), "additionalProperties": False}


#: The JSON schemas of the numbers that are groups.
_GROUP_SHAPES = {
    "half_life_days_by_kind": {
        "type": "object",
        "additionalProperties": SCORING_FIELDS["half_life_days"].shape,
    },
    "coefficients": _by_part(-COEFFICIENT_MAX, COEFFICIENT_MAX),
}


def _number(value: Any) -> Any:
    """Return a number as it came, if a refusal can name its parts; `problems_of_numbers` checks all together."""
    for name in value if isinstance(value, dict) else ():
        if fault := text_error(name):
            raise ProfileRuleError(*fault)
    return value


def _input_field(name: str) -> RuleCheckedField:
    described = SCORING_FIELDS[name]
    return RuleCheckedField(
        rule=_number,
        shape=_GROUP_SHAPES.get(name) or described.shape,
        required=False,
        allow_null=described.default is None,
        help_text=described.input_help or None,
    )


class ScoringProfileChanges(StrictSerializer):
    """The numbers of a scoring profile: only the fields that are there."""

    weights = RuleCheckedField(
        rule=_number,
        shape=_by_part(0, 1),
        required=False,
        help_text="What each part weighs; they sum to 1, others weigh nothing.",
    )

    def get_fields(self) -> dict[str, Any]:
        """Return the weights, a field for every other number, then the fields of the subclass."""
        declared = super().get_fields()
        weights = {"weights": declared.pop("weights")}
        return weights | {name: _input_field(name) for name in SCORING_FIELDS} | declared


class ScoringProfileInput(ScoringProfileChanges):
    """A new scoring profile: another one's numbers with changes, as a draft."""

    name = profile_name_field()
    based_on = profile_name_field(required=False, default=DEFAULT_SCORING_PROFILE_NAME)
    based_on_version = StrictIntegerField(
        minimum=1, maximum=VERSION_MAX, required=False, default=None, help_text="Absent: the one in force."
    )


class PublishInput(StrictSerializer):
    """What to publish, and the decision that argues it."""

    version = StrictIntegerField(
        minimum=1, maximum=VERSION_MAX, required=False, default=None, help_text="Absent: the newest."
    )
    adr_reference = StrictTextField(
        max_length=ADR_CHARACTERS_MAX, required=False, default="", help_text="Needed, such as ADR-0078."
    )


class RetireInput(StrictSerializer):
    """Which version to take out of use."""

    version = StrictIntegerField(minimum=1, maximum=VERSION_MAX)


class ScoringAssignmentInput(AssignmentTargetInput):
    """A published scoring profile for a target."""

    profile = profile_name_field()


def serialize_scoring_profile(row: ScoringProfileVersion) -> dict[str, Any]:
    """Return one version of a scoring profile; what is shipped has no times. The row was read `with_runs`."""
    run = row.evaluation_run
    return {
        "name": row.name,
        "version": row.version,
        "state": row.state,
        "in_force": row.is_active,
        "locked": row.is_shipped,
        "calibrated": row.numbers.get("coefficients") is not None,
        **row.numbers,
        "based_on": row.based_on,
        "adr_reference": row.adr_reference,
        "evaluation": None if run is None else {"id": str(run.pk), "corpus": run.corpus_name},
        "recorded_from": format_utc(row.recorded_from),
        "recorded_to": format_utc(row.recorded_to),
        "created_by": row.created_by,
        "published_at": format_utc(row.published_at),
        "published_by": row.published_by,
    }


def serialize_scoring_assignment(row: ScoringProfileAssignment) -> dict[str, Any]:
    """Return an assignment; the row was read `with_keys`."""
    return {"id": row.pk, "profile": row.profile_name, **serialize_assignment(row)}


class ProvingEvaluationOutput(serializers.Serializer[Any]):
    """The evaluation that a version was published with, or that made it evaluated."""

    id = serializers.UUIDField()
    corpus = serializers.CharField()


class ScoringProfileOutput(serializers.Serializer[Any]):
    """One version of a scoring profile."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    state = serializers.ChoiceField(choices=ScoringProfileVersion.State.values)
    in_force = serializers.BooleanField(help_text="Whether who names the profile gets this version.")
    locked = serializers.BooleanField(help_text="It comes with the program; copy it into a profile of your own.")
    calibrated = serializers.BooleanField(help_text="Its scores are probabilities.")
    weights = serializers.DictField(child=serializers.FloatField())
    based_on = serializers.CharField(allow_blank=True, help_text="`name version` that it was made from.")
    adr_reference = serializers.CharField(allow_blank=True)
    evaluation = ProvingEvaluationOutput(allow_null=True)
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="When it was superseded or retired.")
    created_by = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField(allow_null=True)
    published_by = serializers.CharField(allow_blank=True)

    def get_fields(self) -> dict[str, Any]:
        """Return a field for every number among the declared ones, after the weights."""
        declared = super().get_fields()
        numbers = {name: output_field(each) for name, each in SCORING_FIELDS.items()}
        for name in ("half_life_days_by_kind", "coefficients"):
            is_nullable = SCORING_FIELDS[name].default is None
            numbers[name] = serializers.DictField(child=serializers.FloatField(), allow_null=is_nullable)
        ahead = {name: declared.pop(name) for name in list(declared)[: list(declared).index("weights") + 1]}
        return ahead | numbers | declared


class ScoringProfilePageOutput(serializers.Serializer[Any]):
    """A page of scoring profiles by name, or of the versions of one, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ScoringProfileOutput(many=True)


class ScoringAssignmentOutput(AssignmentOutput):
    """Whom a scoring profile is for."""

    profile = serializers.CharField()


class ScoringAssignmentPageOutput(serializers.Serializer[Any]):
    """A page of assignments, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ScoringAssignmentOutput(many=True)
