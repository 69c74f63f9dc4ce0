"""Scoring profiles and whom they are for: what admins send about them and what agents get."""

from typing import Any

from rest_framework import serializers

from context.models import ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.serializers.budget_profiles import (
    VERSION_MAX,
    AssignmentOutput,
    AssignmentTargetInput,
    BudgetProfileComparisonInput,
    BudgetProfileRollBackInput,
    InvalidSectionsError,
    profile_name_field,
    serialize_assignment,
)
from context.services.profiles.scoring_profiles import (
    COEFFICIENT_MAX,
    DEFAULT_SCORING_PROFILE_NAME,
    HALF_LIFE_DAYS_MAX,
    HALF_LIFE_DAYS_MIN,
    NEIGHBOUR_REACH_MAX,
    PART_NAMES,
    POOL_SIZE_MAX,
    RECENCY_MODES,
    RELEVANCE_SOURCES,
)
from memory_platform.rest.fields import RuleCheckedField, StrictIntegerField, StrictTextField, format_utc, text_error
from memory_platform.rest.serializers import StrictSerializer

ADR_CHARACTERS_MAX = 16


def _by_part(low: float, high: float) -> dict[str, Any]:
    number = {"type": "number", "minimum": low, "maximum": high}
    return {"type": "object", "properties": dict.fromkeys(PART_NAMES, number), "additionalProperties": False}


def _number(value: Any) -> Any:
    """As it came, if a refusal can name its parts: `problems_of_numbers` checks all numbers together."""
    for name in value if isinstance(value, dict) else ():
        if fault := text_error(name):
            raise InvalidSectionsError(*fault)
    return value


def _number_field(shape: dict[str, Any], **kwargs: Any) -> RuleCheckedField:
    return RuleCheckedField(rule=_number, shape=shape, required=False, **kwargs)


class ScoringProfileChanges(StrictSerializer):
    """The numbers of a scoring profile: only the fields that are there."""

    weights = _number_field(_by_part(0, 1), help_text="What each part weighs; they sum to 1, others weigh nothing.")
    relevance = _number_field({"type": "string", "enum": list(RELEVANCE_SOURCES)})
    recency_mode = _number_field({"type": "string", "enum": list(RECENCY_MODES)})
    half_life_days = _number_field({"type": "number", "minimum": HALF_LIFE_DAYS_MIN, "maximum": HALF_LIFE_DAYS_MAX})
    half_life_days_by_kind = _number_field(
        {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": HALF_LIFE_DAYS_MIN, "maximum": HALF_LIFE_DAYS_MAX},
        },
        help_text="For memories of a kind in place of `half_life_days`.",
    )
    mmr_diversity = _number_field({"type": "number", "minimum": 0, "maximum": 1})
    pool_size = _number_field(
        {"type": "integer", "minimum": 0, "maximum": POOL_SIZE_MAX},
        help_text="Candidates by fused rank; 0: as many as the budget asks for.",
    )
    neighbour_reach = _number_field({"type": "integer", "minimum": 0, "maximum": NEIGHBOUR_REACH_MAX})
    coefficients = _number_field(
        _by_part(-COEFFICIENT_MAX, COEFFICIENT_MAX),
        allow_null=True,
        help_text="With an intercept the score is a probability and the weights rank nothing; null: not calibrated.",
    )
    intercept = _number_field(
        {"type": "number", "minimum": -COEFFICIENT_MAX, "maximum": COEFFICIENT_MAX}, allow_null=True
    )


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


class ScoringRollBackInput(BudgetProfileRollBackInput):
    """Which formerly published version to put into force again."""


class ScoringComparisonInput(BudgetProfileComparisonInput):
    """Two versions of one scoring profile, or of two."""


class ScoringAssignmentInput(AssignmentTargetInput):
    """A published scoring profile for a target."""

    profile = profile_name_field()


def serialize_scoring_profile(row: ScoringProfileVersion) -> dict[str, Any]:
    """One version of a scoring profile; what is shipped has no times. The row was read `with_runs`."""
    run = row.evaluation_run
    return {
        "name": row.name,
        "version": row.version,
        "state": row.state,
        "in_force": row.is_in_force,
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
    """An assignment; the row was read `with_keys`."""
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
    relevance = serializers.ChoiceField(choices=RELEVANCE_SOURCES)
    recency_mode = serializers.ChoiceField(choices=RECENCY_MODES)
    half_life_days = serializers.FloatField()
    half_life_days_by_kind = serializers.DictField(child=serializers.FloatField())
    mmr_diversity = serializers.FloatField()
    pool_size = serializers.IntegerField()
    neighbour_reach = serializers.IntegerField()
    coefficients = serializers.DictField(child=serializers.FloatField(), allow_null=True)
    intercept = serializers.FloatField(allow_null=True)
    based_on = serializers.CharField(allow_blank=True, help_text="`name version` that it was made from.")
    adr_reference = serializers.CharField(allow_blank=True)
    evaluation = ProvingEvaluationOutput(allow_null=True)
    recorded_from = serializers.DateTimeField(allow_null=True)
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="When it was superseded or retired.")
    created_by = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField(allow_null=True)
    published_by = serializers.CharField(allow_blank=True)


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
