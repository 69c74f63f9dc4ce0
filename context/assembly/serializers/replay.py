"""Contexts again: what agents send to replay one and to compare it, and what they get."""

from typing import Any

from rest_framework import serializers

from context.assembly.replay import ReplayMode
from context.assembly.serializers.contexts import NAME_CHARACTERS_MAX, ContextInput, ExplainShape
from context.assembly.serializers.fields import one_of
from context.assembly.serializers.shapes import AnchorShape, BlockShape, BudgetShape, NamedVersionShape, WarningShape
from memory_platform.rest.fields import ChosenField, IdField, MomentField, TextField, TruthField
from memory_platform.rest.serializers import StrictSerializer

SNAPSHOT_CHARACTERS_MAX = 100
COMPARED_PROFILES = 2


class ReplayInput(StrictSerializer):
    """Which data a replay reads: that of then, or that of today with the same inputs."""

    mode = ChosenField(choices=list(ReplayMode))
    explain = TruthField(required=False, default=False)


class SinceInput(StrictSerializer):
    """Against what to compare."""

    context_id = IdField(required=False, allow_null=True, default=None)
    snapshot = TextField(
        min_length=1,
        max_length=SNAPSHOT_CHARACTERS_MAX,
        required=False,
        allow_null=True,
        default=None,
        help_text="Its name or its id.",
    )
    as_of = MomentField(is_over=True, required=False, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one."""
        one_of(attrs, ("context_id", "snapshot", "as_of"))
        return attrs


class DiffInput(ContextInput):
    """A wish for a context, and with what to compare it. Nothing is stored or counted."""

    since = SinceInput(required=False, allow_null=True, default=None)
    profiles = serializers.ListField(
        child=TextField(max_length=NAME_CHARACTERS_MAX),
        required=False,
        allow_null=True,
        default=None,
        min_length=COMPARED_PROFILES,
        max_length=COMPARED_PROFILES,
        help_text="Two budget profiles on the same wish: what the second gives that the first does not.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Compare moments or profiles."""
        attrs = super().validate(attrs)
        one_of(attrs, ("since", "profiles"))
        if attrs["profiles"] is not None and attrs["budget_profile"] is not None:
            detail = serializers.ErrorDetail("The two profiles are compared; name no third.", "given_twice")
            raise serializers.ValidationError({"budget_profile": [detail]})
        return attrs


class DiffShape(serializers.Serializer[Any]):
    """How the context differs; an anchor is type, id and version, so an edited memory is added and removed."""

    added = BlockShape(many=True)
    removed = AnchorShape(many=True)
    kept = AnchorShape(many=True)
    tokens_estimated_added = serializers.IntegerField()
    budget = BudgetShape()
    profile = NamedVersionShape()
    budget_profile = NamedVersionShape()
    warnings = WarningShape(many=True)
    explain = ExplainShape(required=False, help_text="With `explain`: of the context now.")
