"""Inputs and outputs of the API for votes on memories and outcomes of contexts."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from context.assembly.serializers.contexts import require_exactly_one, validate_query_text
from context.assembly.serializers.shapes import WarningOutput
from context.feedback.outcomes import AnswerUsage
from context.feedback.votes import RecordedVotes
from context.models import Feedback
from context.services.feedback.votes import EXPLICIT_WEIGHTS
from memories.services.store.content import MAX_CONTENT_BYTES
from memory_platform.rest.fields import RuleCheckedField, StrictChoiceField, StrictTextField, StrictUuidField
from memory_platform.rest.serializers import StrictSerializer

_REASON_CHARACTERS_MAX = 500


class FeedbackInput(StrictSerializer):
    """A vote on one memory, or on every memory of a context."""

    memory_id = StrictUuidField(allow_null=True, default=None)
    context_id = StrictUuidField(allow_null=True, default=None)
    feedback = StrictChoiceField(choices=tuple(EXPLICIT_WEIGHTS))
    reason = StrictTextField(max_length=_REASON_CHARACTERS_MAX, default="")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        require_exactly_one(attrs, ("memory_id", "context_id"))
        return attrs


class OutcomeInput(StrictSerializer):
    """The model's answer to a context."""

    answer = RuleCheckedField(
        rule=validate_query_text,
        shape={"type": "string", "minLength": 1, "maxLength": MAX_CONTENT_BYTES},
        help_text="At most 32 KiB. It is compared and not stored.",
    )


class FeedbackActorOutput(serializers.Serializer[Any]):
    """Who voted."""

    kind = serializers.ChoiceField(choices=["operator", "key", "system"], source="actor_kind")
    label = serializers.CharField(allow_blank=True, source="actor_label")  # type: ignore[assignment]


class FeedbackOutput(serializers.Serializer[Any]):
    """One vote. A withdrawn vote stays in the history and does not count."""

    id = serializers.UUIDField()
    memory_id = serializers.UUIDField()
    context_id = serializers.UUIDField(allow_null=True, source="receipt_id")
    kind = serializers.ChoiceField(choices=Feedback.Kind.values, help_text="`implicit`: an answer used the memory.")
    weight = serializers.FloatField(help_text="+1, -1 or -3 as given; +0.25 if an answer used the memory.")
    reason = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()
    by = FeedbackActorOutput(source="*")
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    withdrawn_by = serializers.CharField(allow_blank=True)


class UsefulnessOutput(serializers.Serializer[Any]):
    """The usefulness of a memory after the votes."""

    memory_id = serializers.UUIDField()
    usefulness_score = serializers.FloatField()


class RecordedVotesOutput(serializers.Serializer[Any]):
    """The result of a vote."""

    results = FeedbackOutput(many=True, source="votes", help_text="The votes that were counted, one for each memory.")
    replaced = FeedbackOutput(
        many=True,
        help_text="Votes of this key on the same memories and day (UTC), as they were before `results` replaced them. "
        "The ids are the same.",
    )
    repeated = FeedbackOutput(many=True, help_text="Votes that were given before and are not counted again.")
    skipped = serializers.ListField(
        child=serializers.UUIDField(), help_text="Memories of the context that are now archived or out of reach."
    )
    usefulness_scores = serializers.SerializerMethodField()

    @extend_schema_field(UsefulnessOutput(many=True))
    def get_usefulness_scores(self, given: RecordedVotes) -> list[dict[str, Any]]:
        return [{"memory_id": str(pk), "usefulness_score": score} for pk, score in given.scores.items()]


class AnswerOverlapOutput(serializers.Serializer[Any]):
    """How much of a memory of the context is in the answer."""

    memory_id = serializers.UUIDField()
    is_used = serializers.BooleanField()
    rare_word_count = serializers.IntegerField()
    shared_word_count = serializers.IntegerField(help_text="The number of rare words that the answer contains.")
    similarity = serializers.FloatField(allow_null=True, help_text="Highest cosine of any sentence of the answer.")


class AnswerUsageOutput(RecordedVotesOutput):
    """Which memories of its context an answer used, in the order of the context."""

    memories = serializers.SerializerMethodField()
    warnings = WarningOutput(many=True)

    @extend_schema_field(AnswerOverlapOutput(many=True))
    def get_memories(self, usage: AnswerUsage) -> list[dict[str, Any]]:
        return [
            {
                "memory_id": str(memory_id),
                "is_used": overlap.is_used,
                "rare_word_count": len(overlap.rare_words),
                "shared_word_count": len(overlap.shared_words),
                "similarity": overlap.similarity,
            }
            for memory_id, overlap in usage.overlaps.items()
        ]
