"""Inputs and outputs of the API for evaluations."""

import json
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from context.evaluation.actions.evaluations import EVALUATION_ORDERINGS
from context.evaluation.corpora import corpus_upload_text
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS
from context.models import BUDGETS_MAX, BudgetProfile, EvaluationAnswer, EvaluationRun
from context.profiles.serializers.profiles import ComparedProfileVersionOutput, EstimateOutput
from context.services.evaluation.evidence import MEASURES, QuestionMeasures
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

_NAME_CHARACTERS_MAX = 100
_PROFILE_CHARACTERS_MAX = 80
_CORPUS_ROWS_MAX = 20_000


class EvaluationInput(StrictSerializer):
    """A new evaluation: a corpus, the profile, and how contexts are packed at which budgets."""

    corpus = StrictChoiceField(
        choices=[EvaluationRun.Corpus.GOLDEN, EvaluationRun.Corpus.UPDATED_FACTS, EvaluationRun.Corpus.UPLOAD],
        default=EvaluationRun.Corpus.GOLDEN,
        help_text="`upload`: the `memories` and `questions` of this request.",
    )
    corpus_name = StrictTextField(max_length=_NAME_CHARACTERS_MAX, default="", help_text="Name of an uploaded corpus.")
    memories = StrictListField(
        child=serializers.DictField(), max_length=_CORPUS_ROWS_MAX, required=False, help_text="Rows of memories.jsonl."
    )
    questions = StrictListField(
        child=serializers.DictField(), max_length=_CORPUS_ROWS_MAX, required=False, help_text="Rows of questions.jsonl."
    )
    profile = StrictTextField(
        max_length=_PROFILE_CHARACTERS_MAX,
        default="",
        help_text="A scoring profile, also a draft, or one version as `name@version`; absent: `adr-0040`.",
    )
    packer = StrictChoiceField(choices=BudgetProfile.Packer.values, default=BudgetProfile.Packer.GREEDY.value)
    ordering = StrictChoiceField(choices=EVALUATION_ORDERINGS, default=BudgetProfile.Ordering.TOP_DOWN.value)
    budgets = StrictListField(
        child=StrictIntegerField(),
        min_length=1,
        max_length=BUDGETS_MAX,
        default=list(DEFAULT_EVALUATION_BUDGETS),
        help_text="Tokens.",
    )
    with_baseline = StrictBooleanField(
        default=True, help_text="Also evaluate the profile in use the same way; publishing compares a version with it."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `request_evaluation`, and `with_baseline`."""
        is_upload = attrs["corpus"] == EvaluationRun.Corpus.UPLOAD
        files = [attrs.pop(name, None) for name in ("memories", "questions")]
        for name, rows in zip(("memories", "questions"), files, strict=True):
            if (rows is None) == is_upload:
                code, detail = ("required", "An upload needs this field.") if is_upload else _NOT_UPLOADED
                raise serializers.ValidationError({name: [serializers.ErrorDetail(detail, code)]})
        texts = ["".join(f"{json.dumps(row)}\n" for row in rows or ()) for rows in files]
        attrs["corpus_text"] = corpus_upload_text(*texts) if is_upload else ""
        attrs["corpus_kind"] = attrs.pop("corpus")
        return attrs


_NOT_UPLOADED = ("not_uploaded", "Only a corpus of the kind `upload` has this field.")


class EvaluationListInput(PageInput):
    """The query parameters of the list."""

    state = StrictChoiceField(choices=EvaluationRun.State.values, required=False)


class EvaluationComparisonInput(StrictSerializer):
    """The run to compare with."""

    other = StrictUuidField(help_text="A finished run of the same corpus.")


class EvaluationErrorOutput(serializers.Serializer[Any]):
    """Why a run failed."""

    code = serializers.CharField(source="error_code")
    detail = serializers.CharField(source="error_detail")


class EvaluationCorpusOutput(serializers.Serializer[Any]):
    """The corpus of a run; runs with the same hash can be compared."""

    kind = serializers.ChoiceField(choices=EvaluationRun.Corpus.values, source="corpus_kind")
    name = serializers.CharField(source="corpus_name")
    sha256 = serializers.CharField(
        source="corpus_sha256", allow_blank=True, help_text="Empty until the corpus is read."
    )


class EvaluatedProfileOutput(ComparedProfileVersionOutput):
    """The scoring profile of a run."""

    name = serializers.CharField(source="profile_name")
    version = serializers.IntegerField(source="profile_version")


class EvaluationRowOutput(serializers.Serializer[Any]):
    """An evaluation without its results."""

    id = serializers.UUIDField()
    corpus = EvaluationCorpusOutput(source="*")
    profile = EvaluatedProfileOutput(source="*")
    packer = serializers.CharField()
    ordering = serializers.CharField()
    budgets = serializers.ListField(child=serializers.IntegerField())
    embedder_model = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=EvaluationRun.State.values)
    step = serializers.CharField(allow_blank=True, help_text="The current or last step.")
    done = serializers.IntegerField(help_text="Questions answered.")
    total = serializers.IntegerField(help_text="Questions of the corpus; 0 until it is read.")
    error = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(EvaluationErrorOutput(allow_null=True))
    def get_error(self, run: EvaluationRun) -> dict[str, Any] | None:
        return dict(EvaluationErrorOutput(run).data) if run.error_code else None


class MeasuredBudgetOutput(serializers.Serializer[Any]):
    """Means over the questions at one budget, or differences of means, by measure."""

    budget = serializers.IntegerField()
    questions = serializers.IntegerField()
    measures = serializers.DictField(
        child=EstimateOutput(), help_text=f"The measures {', '.join(MEASURES)}; unknown ones are absent."
    )


class EvaluationOutput(EvaluationRowOutput):
    """An evaluation with its results, which are empty before it is done."""

    results = serializers.SerializerMethodField()

    @extend_schema_field(MeasuredBudgetOutput(many=True))
    def get_results(self, run: EvaluationRun) -> list[dict[str, Any]]:
        totals = {budget: run.results[str(budget)]["report"]["total"] for budget in run.budgets if run.results}
        rows = [{"budget": budget, **total} for budget, total in totals.items()]
        return [dict(MeasuredBudgetOutput(row).data) for row in rows]


class StartedEvaluationOutput(EvaluationOutput):
    """A new evaluation."""

    baseline_id = serializers.UUIDField(
        allow_null=True, help_text="The evaluation of the profile in use, if one was started."
    )


class AnsweredBudgetOutput(serializers.Serializer[Any]):
    """The measures of one question at one budget; null where a measure does not apply to it."""

    budget = serializers.IntegerField()
    evidence = serializers.IntegerField(help_text="Evidence of the question.")
    included = serializers.IntegerField(help_text="The evidence that the context includes.")
    milliseconds = serializers.FloatField()

    def get_fields(self) -> dict[str, Any]:
        """Return the declared fields, then one for every measure."""
        return super().get_fields() | {name: serializers.FloatField(allow_null=True) for name in MEASURES}


class EvaluationAnswerOutput(serializers.Serializer[Any]):
    """One question of an evaluation."""

    position = serializers.IntegerField(help_text="Position in the corpus, from 0.")
    question_id = serializers.CharField(help_text="Id of the golden question, if it is one.")
    category = serializers.CharField(allow_blank=True)
    results = serializers.SerializerMethodField()

    @extend_schema_field(AnsweredBudgetOutput(many=True))
    def get_results(self, answer: EvaluationAnswer) -> list[dict[str, Any]]:
        return [_answered(int(budget), each["measured"]) for budget, each in answer.measures.items()]


def _answered(budget: int, stored: dict[str, Any]) -> dict[str, Any]:
    measured = QuestionMeasures(**stored)
    values = {name: read(measured) for name, read in MEASURES.items()}
    plain = {name: None if value is None else float(value) for name, value in values.items()}
    same = {"evidence": measured.evidence, "included": measured.held, "milliseconds": measured.milliseconds}
    return {"budget": budget, **same, **plain}


class EvaluationComparisonOutput(serializers.Serializer[Any]):
    """A run minus another one, question by question over those of both, with 95 % intervals."""

    id = serializers.UUIDField()
    other = serializers.UUIDField()
    results = MeasuredBudgetOutput(many=True)
