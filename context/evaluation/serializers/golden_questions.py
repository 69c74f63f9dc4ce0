"""Inputs and outputs of the API for golden questions."""

from typing import Any

from rest_framework import serializers

from context.evaluation.actions.golden_questions import (
    ANSWER_CHARACTERS_MAX,
    CATEGORY_CHARACTERS_MAX,
    EVIDENCE_MEMORIES_MAX,
    QUESTION_CHARACTERS_MAX,
)
from context.services.profiles.fields import TOKENS_MAX, TOKENS_MIN
from memories.store.serializers.answers import FieldErrorOutput
from memories.tenancy.serializers.partitions import PartitionScopedInput
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

GOLDEN_ROWS_MAX = 200


class GoldenQuestionFields(StrictSerializer):
    """The fields of golden questions that can change."""

    text = StrictTextField(min_length=1, max_length=QUESTION_CHARACTERS_MAX)
    answer = StrictTextField(max_length=ANSWER_CHARACTERS_MAX, default="", help_text="Words of the correct answer.")
    category = StrictTextField(
        max_length=CATEGORY_CHARACTERS_MAX, default="", help_text="Category by which results are grouped."
    )
    as_of = StrictDateTimeField(
        is_over=True, allow_null=True, default=None, help_text="The time that the question is about; null: now."
    )
    max_tokens = StrictIntegerField(
        minimum=TOKENS_MIN,
        maximum=TOKENS_MAX,
        allow_null=True,
        default=None,
        help_text="The budget of the question; null: that of the budget profile.",
    )


class GoldenQuestionInput(GoldenQuestionFields, PartitionScopedInput):
    """A new golden question."""

    memory_ids = StrictListField(
        child=StrictUuidField(),
        min_length=1,
        max_length=EVIDENCE_MEMORIES_MAX,
        help_text="The memories its context should include.",
    )


class ConditionalGoldenQuestionInput(GoldenQuestionInput):
    """A row of an import: a golden question, and the condition under which it is stored."""

    if_match = StrictTextField(
        max_length=100,
        allow_null=True,
        default=None,
        help_text="The `ETag` that the same question must have; else the row gets `stale_version`.",
    )


class GoldenQuestionChanges(GoldenQuestionFields):
    """Changes of a golden question; absent fields do not change."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, partial=True, **kwargs)


class GoldenQuestionBulkInput(StrictSerializer):
    """Golden questions to import; each is checked alone."""

    questions = StrictListField(child=serializers.JSONField(allow_null=True), min_length=1, max_length=GOLDEN_ROWS_MAX)


class GoldenQuestionBulkInputSchema(StrictSerializer):
    """`GoldenQuestionBulkInput` as the schema shows it."""

    questions = StrictListField(child=ConditionalGoldenQuestionInput(), min_length=1, max_length=GOLDEN_ROWS_MAX)


class GoldenQuestionListInput(PageInput):
    """The query parameters of the list."""

    removed = StrictBooleanField(default=False, takes_text=True, help_text="Removed questions instead of current ones.")


class GoldenQuestionOutput(serializers.Serializer[Any]):
    """A golden question, read `with_evidence`."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    answer = serializers.CharField(allow_blank=True)
    category = serializers.CharField(allow_blank=True)
    partition = serializers.CharField(source="partition_path", allow_blank=True)
    as_of = serializers.DateTimeField(allow_null=True)
    max_tokens = serializers.IntegerField(allow_null=True)
    memory_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The evidence of the question.")
    live_memory_ids = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="The evidence that a context can include: neither archived nor expired at the time of the question.",
    )
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)
    removed_at = serializers.DateTimeField(allow_null=True)


class GoldenQuestionResultOutput(serializers.Serializer[Any]):
    """The result of one row of an import."""

    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["created", "existing", "invalid"])
    id = serializers.UUIDField(allow_null=True)
    errors = FieldErrorOutput(many=True)  # type: ignore[assignment]


class GoldenQuestionBulkOutput(serializers.Serializer[Any]):
    """The results of an import in the order of its rows."""

    results = GoldenQuestionResultOutput(many=True)
