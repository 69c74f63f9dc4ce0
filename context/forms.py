"""What operators type about contexts and budgets, checked field by field before a conductor or an action sees it."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from context.corpora import upload_text
from context.evaluating import DEFAULT_BUDGETS, UPLOAD_BYTES_MAX
from context.models import TOKENS_MAX, TOKENS_MIN, BudgetProfile, EvaluationRun
from context.profile_form import PACKER_CHOICES
from context.results import DEFAULT_RENDER, ContextRequest, Focus
from memories.forms import QUERY_MAX_CHARACTERS, PartitionField
from memory_platform.plain_forms import PlainForm

#: A query string of a run; a question may be long, its marks take three characters each.
BEFORE_MAX_CHARACTERS = 20_000
#: A name, and of a draft also the number of its version.
PROFILE_MAX_CHARACTERS = 80
SLIDER_STEP_TOKENS = 50
SLIDER_MAX_TOKENS = 8_000


class PreviewForm(PlainForm):
    """One context to look at; every field is optional and stands in the address.

    `before` is the query string of the run that this one is compared with, unless `against` says otherwise. Compared
    with and how much of the window the directive takes change nothing of the context.
    """

    AGAINST = [
        ("", "The run before"),
        ("keep", "This run, kept"),
        ("receipt", "A receipt"),
        ("snapshot", "A snapshot"),
        ("nothing", "Nothing"),
    ]

    STYLES = [("markdown", "Markdown"), ("xml", "XML"), ("json", "JSON")]
    # "stable" keeps the order of an earlier context, which a preview does not have.
    ORDERINGS = [("", "By profile")] + [
        choice for choice in BudgetProfile.Ordering.choices if choice[0] != BudgetProfile.Ordering.STABLE
    ]
    PACKERS = [
        ("", "By profile"),
        *PACKER_CHOICES,
    ]

    units: ClassVar[Mapping[str, str]] = {"max_tokens": "tokens", "directive": "tokens"}

    query = forms.CharField(label="Question", required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
    exact = forms.BooleanField(required=False)
    max_tokens = forms.IntegerField(label="Budget", required=False, min_value=TOKENS_MIN, max_value=TOKENS_MAX)
    profile = forms.CharField(label="Scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    budget_profile = forms.CharField(required=False, max_length=64)
    packer = forms.ChoiceField(required=False, choices=PACKERS)
    ordering = forms.ChoiceField(label="Order", required=False, choices=ORDERINGS)
    focus_memory = forms.CharField(label="Focus on a memory", required=False, max_length=200)
    focus_summary = forms.UUIDField(label="Focus on a summary", required=False)
    as_of = forms.DateTimeField(label="As of", required=False)
    style = forms.ChoiceField(required=False, choices=STYLES)
    model = forms.CharField(required=False, max_length=100)
    before = forms.CharField(required=False, max_length=BEFORE_MAX_CHARACTERS)
    directive = forms.IntegerField(label="Directive and messages", required=False, min_value=0, max_value=TOKENS_MAX)
    against = forms.ChoiceField(label="Compare with", required=False, choices=AGAINST)
    receipt = forms.UUIDField(
        label="Receipt", required=False, error_messages={"invalid": "This is not the id of a receipt."}
    )
    snapshot = forms.CharField(label="Snapshot", required=False, max_length=100)

    def wish(self) -> ContextRequest:
        """The valid fields as the request of a preview, explained."""
        fields = self.cleaned_data
        return ContextRequest(
            query=fields["query"],
            focus=self._focus(),
            partition=fields["partition"],
            exact=fields["exact"],
            max_tokens=fields["max_tokens"],
            profile=fields["profile"],
            budget_profile=fields["budget_profile"],
            packer=fields["packer"],
            ordering=fields["ordering"],
            as_of=fields["as_of"],
            render=fields["style"] or DEFAULT_RENDER,
            model=fields["model"],
            explain=True,
            preview=True,
        )

    @property
    def searched_focus(self) -> str:
        """Words in place of the id of a memory: which one is meant is still to be chosen."""
        text: str = self.cleaned_data["focus_memory"].strip()
        return "" if _uuid(text) else text

    def _focus(self) -> Focus | None:
        memory_id, summary_id = _uuid(self.cleaned_data["focus_memory"]), self.cleaned_data["focus_summary"]
        return Focus(memory_id=memory_id, summary_id=summary_id) if memory_id or summary_id else None

    def clean(self) -> dict[str, Any]:
        """What to compare with is named where it was asked for."""
        fields = super().clean() or {}
        for name in ("receipt", "snapshot"):
            if fields.get("against") == name and not fields.get(name) and name not in self.errors:
                self.add_error(name, f"Say with which {name}.")
        if fields.get("against") == "snapshot" and fields.get("as_of"):
            self.add_error("snapshot", "Compare the present with a snapshot, or look at a past time.")
        return fields

    def has_choices(self) -> bool:
        """Whether any of the fields that are folded away first is filled; a style always is."""
        return self._has_any("model", "directive") or self["style"].value() not in (None, "", DEFAULT_RENDER)

    def has_times(self) -> bool:
        """The same for the ones about the focus and the time."""
        return self._has_any("focus_memory", "focus_summary", "as_of", "exact")

    def has_comparison(self) -> bool:
        """The same for what to compare with."""
        return self._has_any("against", "receipt", "snapshot")

    def _has_any(self, *names: str) -> bool:
        return any(self[name].value() or self[name].errors for name in names)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


class EntryForm(PreviewForm):
    """A preview, and the item of which is asked at which budget it enters."""

    item = forms.UUIDField(label="Item", error_messages={"invalid": "This is not the id of an item."})


class SuggestForm(PlainForm):
    """What stands in a field so far, and what it asks for."""

    focus_memory = forms.CharField(required=False, max_length=200)
    memory = forms.CharField(required=False, max_length=200)
    partition = forms.CharField(required=False, max_length=200)

    @property
    def words(self) -> str:
        """Of whichever field looks a memory up."""
        return str(self.cleaned_data["focus_memory"] or self.cleaned_data["memory"])


class SideBySideForm(PreviewForm):
    """One question for two profiles; "" is the profile that is assigned."""

    left = forms.CharField(label="Left scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    right = forms.CharField(label="Right scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    left_budget = forms.CharField(label="Left budget profile", required=False, max_length=64)
    right_budget = forms.CharField(label="Right budget profile", required=False, max_length=64)


class NewProfileForm(PlainForm):
    """A new profile of either kind: its name, and whose numbers it begins with."""

    name = forms.RegexField(
        r"^[a-z][a-z0-9_-]*\Z",
        max_length=64,
        error_messages={"invalid": "A lower-case word of letters, digits, _ and -, such as support-short."},
    )
    based_on = forms.CharField(required=False, max_length=80)


class PublishForm(PlainForm):
    """What publishing a scoring profile takes: the decision, and the version in force that was seen (0: none)."""

    adr_reference = forms.CharField(label="Decision", required=False, max_length=16)
    replaces = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)


class AssignmentForm(PlainForm):
    """Whom a profile is for: an agent's key, else a partition; an empty one is the whole tenant."""

    profile_name = forms.CharField(label="Profile", max_length=64)
    api_key = forms.CharField(label="Key", required=False, max_length=150)
    partition = PartitionField()


class CompareForm(PlainForm):
    """Two versions to compare, each as `name version`."""

    left = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}\Z", max_length=80)
    right = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}\Z", max_length=80)

    def named_versions(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Both, as name and number."""
        left, right = (self.cleaned_data[side].split() for side in ("left", "right"))
        return (left[0], int(left[1])), (right[0], int(right[1]))


class ReceiptFilterForm(PlainForm):
    """How the list of contexts is narrowed; everything is optional and stands in the address."""

    q = forms.CharField(label="Question", required=False, max_length=200)
    partition = PartitionField()
    key = forms.CharField(required=False, max_length=20)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)


class VoteForm(PlainForm):
    """A judgement on a memory."""

    VOTES = [("POSITIVE", "Useful"), ("NEGATIVE", "Not useful"), ("VERY_NEGATIVE", "Wrong or harmful")]

    feedback = forms.ChoiceField(label="Vote", choices=VOTES)
    reason = forms.CharField(required=False, max_length=500)


class BudgetTrialForm(PlainForm):
    """The question on which the effect of a changed budget is shown."""

    query = forms.CharField(required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()


class EvaluationForm(PlainForm):
    """A corpus to ask, how its questions are scored and packed, and at which budgets."""

    CORPORA = [
        (EvaluationRun.Corpus.GOLDEN, "Golden questions of this tenant"),
        (EvaluationRun.Corpus.UPDATED_FACTS, "Updated facts, which come with the program"),
        (EvaluationRun.Corpus.UPLOAD, "An uploaded corpus"),
    ]

    corpus = forms.ChoiceField(choices=CORPORA)
    corpus_name = forms.CharField(label="Name", required=False, max_length=100)
    memories = forms.FileField(label="memories.jsonl", required=False)
    questions = forms.FileField(label="questions.jsonl", required=False)
    profile = forms.CharField(label="Scoring profile", required=False, max_length=80)
    packer = forms.ChoiceField(choices=BudgetProfile.Packer.choices, initial=BudgetProfile.Packer.GREEDY)
    budgets = forms.CharField(label="Budgets", max_length=300, initial=", ".join(map(str, DEFAULT_BUDGETS)))

    def clean_budgets(self) -> list[int]:
        words = self.cleaned_data["budgets"].replace(",", " ").split()
        if not all(word.isdecimal() and len(word) < 10 for word in words):
            raise ValidationError("Whole numbers of tokens, with commas between them.", code="bad_budgets")
        return [int(word) for word in words]

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if fields.get("corpus") == EvaluationRun.Corpus.UPLOAD:
            texts = [self._text_of(name, fields.get(name)) for name in ("memories", "questions")]
            if not self.errors:
                fields["corpus_text"] = upload_text(*texts)
        return fields

    def _text_of(self, name: str, file: Any) -> str:
        """The text of an uploaded file; what is wrong with it stands at its field."""
        if file is None:
            self.add_error(name, "Choose the file.")
        elif file.size > UPLOAD_BYTES_MAX:
            self.add_error(name, f"At most {UPLOAD_BYTES_MAX // 2**20} MiB are taken.")
        else:
            try:
                return str(file.read().decode("utf-8-sig"))
            except UnicodeDecodeError:
                self.add_error(name, "The file is not UTF-8 text.")
        return ""

    def wishes(self) -> dict[str, Any]:
        """The valid fields as `request_evaluation` takes them."""
        fields = self.cleaned_data
        same = {name: fields[name] for name in ("corpus_name", "profile", "packer", "budgets")}
        return {"corpus_kind": fields["corpus"], "corpus_text": fields.get("corpus_text", ""), **same}


class GoldenQuestionForm(PlainForm):
    """The words of a golden question, and when it is asked."""

    text = forms.CharField(label="Question", max_length=QUERY_MAX_CHARACTERS)
    answer = forms.CharField(label="Answer", required=False, max_length=2_000)
    category = forms.CharField(required=False, max_length=64)
    asked_at = forms.DateTimeField(label="Asked at", required=False)


class NewGoldenForm(GoldenQuestionForm):
    """A golden question by hand: its words, its place, and the memories that it wants, ticked or by their ids."""

    IDS_MAX = 100

    partition = PartitionField()
    ids = forms.CharField(label="Memories by their ids", required=False, max_length=4_000)

    def clean_ids(self) -> list[UUID]:
        """Ids with spaces or commas between them."""
        try:
            return [UUID(word) for word in self.cleaned_data["ids"].replace(",", " ").split()]
        except ValueError as error:
            raise ValidationError("Ids of memories, with spaces between them.", code="invalid") from error

    def ticked(self) -> list[UUID]:
        """The memories whose boxes are ticked; what is no id is none of them."""
        sent = self.data.getlist("memory") if isinstance(self.data, QueryDict) else []
        return [found for text in sent[: self.IDS_MAX] if (found := _as_uuid(text)) is not None]


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


class CollectForm(PlainForm):
    """A memory that the context of a question should hold; `back` is the query string of the preview."""

    text = forms.CharField(label="Question", max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
    asked_at = forms.DateTimeField(required=False)
    memory = forms.UUIDField(
        label="Memory", error_messages={"invalid": "Choose one of the memories that are found, or give an id."}
    )
    back = forms.CharField(required=False, max_length=BEFORE_MAX_CHARACTERS)
