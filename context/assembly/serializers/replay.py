"""Inputs and outputs of the endpoints that replay and compare contexts."""

from typing import Any

from rest_framework import serializers

from context.assembly.replay import ReplayMode
from context.assembly.serializers.contexts import (
    OPTIONAL,
    PROFILE_NAME_CHARACTERS_MAX,
    ContextInput,
    ExplainOutput,
    require_exactly_one,
)
from context.assembly.serializers.shapes import (
    AnchorOutput,
    BlockOutput,
    ContextBudgetOutput,
    ProfileVersionOutput,
    WarningOutput,
)
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictListField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

SNAPSHOT_CHARACTERS_MAX = 100
COMPARED_PROFILES = 2


class ReplayInput(StrictSerializer):
    """The data that a replay reads: recorded, or today's with the same inputs."""

    mode = StrictChoiceField(choices=list(ReplayMode))
    explain = StrictBooleanField(default=False)


class SinceInput(StrictSerializer):
    """What to compare with."""

    context_id = StrictUuidField(**OPTIONAL)
    snapshot = StrictTextField(
        min_length=1, max_length=SNAPSHOT_CHARACTERS_MAX, **OPTIONAL, help_text="Name or id of the snapshot."
    )
    as_of = StrictDateTimeField(is_over=True, **OPTIONAL)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one."""
        require_exactly_one(attrs, ("context_id", "snapshot", "as_of"))
        return attrs


class DiffInput(ContextInput):
    """A context request, and what to compare its context with. Nothing is stored or counted."""

    since = SinceInput(**OPTIONAL)
    profiles = StrictListField(
        child=StrictTextField(max_length=PROFILE_NAME_CHARACTERS_MAX),
        **OPTIONAL,
        min_length=COMPARED_PROFILES,
        max_length=COMPARED_PROFILES,
        help_text="Two budget profiles for the same request: the blocks that only the second includes.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Compare times or profiles."""
        attrs = super().validate(attrs)
        require_exactly_one(attrs, ("since", "profiles"))
        if attrs["profiles"] is not None and attrs["budget_profile"] is not None:
            detail = serializers.ErrorDetail(
                "Do not name a third profile: the two in `profiles` are compared.", "given_twice"
            )
            raise serializers.ValidationError({"budget_profile": [detail]})
        return attrs


class DiffOutput(serializers.Serializer[Any]):
    """How the context differs; an edited memory has another version, so it is both added and removed."""

    added = BlockOutput(many=True)
    removed = AnchorOutput(many=True)
    kept = AnchorOutput(many=True)
    tokens_estimated_added = serializers.IntegerField()
    budget = ContextBudgetOutput()
    profile = ProfileVersionOutput()
    budget_profile = ProfileVersionOutput()
    warnings = WarningOutput(many=True)
    explain = ExplainOutput(required=False, help_text="With `explain`: how the current context was assembled.")
