"""Forms of evaluations and golden questions."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from context.evaluation.corpora import corpus_upload_text
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS, UPLOAD_BYTES_MAX
from context.models import BudgetProfile, EvaluationRun
from context.services.profiles.fields import TOKENS_MAX, TOKENS_MIN
from context.workbench.forms import BEFORE_MAX_CHARACTERS, uuid_or_none
from memories.services.store.content import MAX_CONTENT_BYTES
from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm


class EvaluationForm(PlatformForm):
    """A corpus, how its questions are scored and packed, and at which budgets."""

    CORPORA = [
        (EvaluationRun.Corpus.GOLDEN, "Golden questions"),
        (EvaluationRun.Corpus.UPDATED_FACTS, "Updated facts (built in)"),
        (EvaluationRun.Corpus.UPLOAD, "Uploaded corpus"),
    ]

    corpus = forms.ChoiceField(choices=CORPORA)
    corpus_name = forms.CharField(label="Name", required=False, max_length=100)
    memories = forms.FileField(label="memories.jsonl", required=False)
    questions = forms.FileField(label="questions.jsonl", required=False)
    profile = forms.CharField(label="Scoring profile", required=False, max_length=80)
    packer = forms.ChoiceField(choices=BudgetProfile.Packer.choices, initial=BudgetProfile.Packer.GREEDY)
    budgets = forms.CharField(label="Budgets", max_length=300, initial=", ".join(map(str, DEFAULT_EVALUATION_BUDGETS)))

    def clean_budgets(self) -> list[int]:
        words = self.cleaned_data["budgets"].replace(",", " ").split()
        if not all(word.isdecimal() and len(word) < 10 for word in words):
            raise ValidationError("Enter whole numbers, separated by commas.", code="bad_budgets")
        return [int(word) for word in words]

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if fields.get("corpus") == EvaluationRun.Corpus.UPLOAD:
            texts = [self._text_of(name, fields.get(name)) for name in ("memories", "questions")]
            if not self.errors:
                fields["corpus_text"] = corpus_upload_text(*texts)
        return fields

    def _text_of(self, name: str, file: Any) -> str:
        """Return the text of an uploaded file; a problem becomes an error of its field."""
        if file is None:
            self.add_error(name, "Select a file.")
        elif file.size > UPLOAD_BYTES_MAX:
            self.add_error(name, f"At most {UPLOAD_BYTES_MAX // 2**20} MiB are allowed.")
        else:
            try:
                return str(file.read().decode("utf-8-sig"))
            except UnicodeDecodeError:
                self.add_error(name, "The file is not UTF-8 text.")
        return ""

    def to_evaluation_settings(self) -> dict[str, Any]:
        """Return the valid fields as arguments of `request_evaluation`."""
        fields = self.cleaned_data
        same = {name: fields[name] for name in ("corpus_name", "profile", "packer", "budgets")}
        return {"corpus_kind": fields["corpus"], "corpus_text": fields.get("corpus_text", ""), **same}


class ModelComparisonForm(PlatformForm):
    """The embedding model to compare with the active one, and the profile that scores both."""

    model = forms.ChoiceField(label="Embedding model")
    profile = forms.CharField(label="Scoring profile", required=False, max_length=80)

    def __init__(self, *args: Any, models: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.ChoiceField, self.fields["model"]).choices = [(name, name) for name in models]


def budget_field() -> forms.IntegerField:
    """Return the field of the budget with which a question was asked; empty means the budget of the profile."""
    return forms.IntegerField(label="Budget", required=False, min_value=TOKENS_MIN, max_value=TOKENS_MAX)


class GoldenQuestionForm(PlatformForm):
    """The text of a golden question, and the time at which it is asked."""

    text = forms.CharField(label="Question", max_length=MAX_CONTENT_BYTES)
    answer = forms.CharField(label="Answer", required=False, max_length=2_000)
    category = forms.CharField(required=False, max_length=64)
    as_of = forms.DateTimeField(label="As of", required=False)
    max_tokens = budget_field()


class GoldenQuestionEditForm(GoldenQuestionForm):
    """A change of a golden question; `seen` names the state that its editor saw."""

    seen = forms.CharField(max_length=64)


class NewGoldenForm(GoldenQuestionForm):
    """A new golden question: its text, its partition, and its evidence, selected or by id."""

    IDS_MAX = 100

    partition = PartitionField()
    ids = forms.CharField(label="Memory IDs", required=False, max_length=4_000)

    def clean_ids(self) -> list[UUID]:
        try:
            return [UUID(word) for word in self.cleaned_data["ids"].replace(",", " ").split()]
        except ValueError as error:
            raise ValidationError("Enter memory IDs, separated by spaces.", code="invalid") from error

    def selected(self) -> list[UUID]:
        """Return the memories whose boxes are checked; values that are not ids are ignored."""
        sent = self.data.getlist("memory") if isinstance(self.data, QueryDict) else []
        return [found for text in sent[: self.IDS_MAX] if (found := uuid_or_none(text)) is not None]


class GoldenMemoryForm(PlatformForm):
    """A memory that the context of a question should include; `back` is the query string of the preview."""

    text = forms.CharField(label="Question", max_length=MAX_CONTENT_BYTES)
    partition = PartitionField()
    as_of = forms.DateTimeField(required=False)
    max_tokens = budget_field()
    memory = forms.UUIDField(label="Memory", error_messages={"invalid": "Select a memory or enter an ID."})
    back = forms.CharField(required=False, max_length=BEFORE_MAX_CHARACTERS)
