"""Votes on memories and what became of contexts: what agents send and what they get."""

from typing import Any

from rest_framework import serializers

from context.assembly.serializers.contexts import require_exactly_one, validate_query_text
from context.assembly.serializers.shapes import WarningOutput
from context.feedback.outcomes import AnswerUsage
from context.feedback.votes import RecordedVotes
from context.models import Feedback
from context.services.feedback.votes import EXPLICIT_WEIGHTS
from memories.services.store.content import MAX_CONTENT_BYTES
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictChoiceField,
    StrictTextField,
    StrictUuidField,
    format_utc,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

FEEDBACK = tuple(EXPLICIT_WEIGHTS)
_REASON_CHARACTERS_MAX = 500


class FeedbackInput(StrictSerializer):
    """A vote on one memory, or on every memory of a context."""

    memory_id = StrictUuidField(required=False, allow_null=True, default=None)
    context_id = StrictUuidField(required=False, allow_null=True, default=None)
    feedback = StrictChoiceField(choices=FEEDBACK)
    reason = StrictTextField(max_length=_REASON_CHARACTERS_MAX, required=False, default="")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one of the two."""
        require_exactly_one(attrs, ("memory_id", "context_id"))
        return attrs


class FeedbackListInput(PageInput):
    """The query parameters of the votes on a memory."""


class OutcomeInput(StrictSerializer):
    """What the model answered with a context at hand."""

    answer = RuleCheckedField(
        rule=validate_query_text,
        shape={"type": "string", "minLength": 1, "maxLength": MAX_CONTENT_BYTES},
        help_text="At most 32 KiB. It is compared and not stored.",
    )


def serialize_recorded_votes(given: RecordedVotes) -> dict[str, Any]:
    """What came of a judgement."""
    return {
        "results": [serialize_feedback(vote) for vote in given.votes],
        "repeated": [serialize_feedback(vote) for vote in given.repeated],
        "skipped": [str(memory_id) for memory_id in given.skipped],
        "usefulness_scores": [
            {"memory_id": str(memory_id), "usefulness_score": score} for memory_id, score in given.scores.items()
        ],
    }


def serialize_answer_usage(outcome: AnswerUsage) -> dict[str, Any]:
    """What an answer said about its context; memories in the order of the context."""
    return {
        "memories": [
            {
                "memory_id": str(memory_id),
                "is_used": overlap.is_used,
                "rare_word_count": len(overlap.rare_words),
                "shared_word_count": len(overlap.shared_words),
                "similarity": overlap.similarity,
            }
            for memory_id, overlap in outcome.overlaps.items()
        ],
        **serialize_recorded_votes(outcome.given),
        "warnings": [notice.as_answer() for notice in outcome.warnings],
    }


def serialize_feedback(row: Feedback) -> dict[str, Any]:
    """One vote."""
    return {
        "id": str(row.pk),
        "memory_id": str(row.memory_id),
        "context_id": str(row.receipt_id) if row.receipt_id else None,
        "kind": row.kind,
        "weight": row.weight,
        "reason": row.reason,
        "at": format_utc(row.at),
        "by": {"kind": row.actor_kind, "label": row.actor_label},
        "withdrawn_at": format_utc(row.withdrawn_at),
        "withdrawn_by": row.withdrawn_by,
    }


class FeedbackActorOutput(serializers.Serializer[Any]):
    """Who voted."""

    kind = serializers.ChoiceField(choices=["operator", "key", "system"])
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]


class FeedbackOutput(serializers.Serializer[Any]):
    """One vote; one that was taken back stays, and counts no more."""

    id = serializers.UUIDField()
    memory_id = serializers.UUIDField()
    context_id = serializers.UUIDField(allow_null=True)
    kind = serializers.ChoiceField(choices=Feedback.Kind.values, help_text="`implicit`: an answer used the memory.")
    weight = serializers.FloatField(help_text="+1, -1 or -3 as given; +0.25 where an answer used the memory.")
    reason = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()
    by = FeedbackActorOutput()
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    withdrawn_by = serializers.CharField(allow_blank=True)


class UsefulnessOutput(serializers.Serializer[Any]):
    """What a memory's votes make of its usefulness."""

    memory_id = serializers.UUIDField()
    usefulness_score = serializers.FloatField()


class RecordedVotesOutput(serializers.Serializer[Any]):
    """What came of a judgement."""

    results = FeedbackOutput(many=True, help_text="The votes that were counted, one a memory.")
    repeated = FeedbackOutput(many=True, help_text="Votes that stood already: nothing was counted twice.")
    skipped = serializers.ListField(
        child=serializers.UUIDField(), help_text="Memories of the context that are archived or out of reach by now."
    )
    usefulness_scores = UsefulnessOutput(many=True)


class AnswerOverlapOutput(serializers.Serializer[Any]):
    """How a memory of the context recurred in the answer."""

    memory_id = serializers.UUIDField()
    is_used = serializers.BooleanField()
    rare_word_count = serializers.IntegerField()
    shared_word_count = serializers.IntegerField(help_text="Of the rare words, those in the answer.")
    similarity = serializers.FloatField(allow_null=True, help_text="Best cosine of a sentence of the answer.")


class AnswerUsageOutput(RecordedVotesOutput):
    """What an answer said about its context."""

    memories = AnswerOverlapOutput(many=True)
    warnings = WarningOutput(many=True)


class FeedbackPageOutput(serializers.Serializer[Any]):
    """A page of votes, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = FeedbackOutput(many=True)
