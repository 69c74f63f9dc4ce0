"""What operators type about memories, checked field by field before an action sees it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast
from uuid import UUID

from django import forms
from django.core.exceptions import TooManyFieldsSent, ValidationError
from django.http import QueryDict

from memories.embedding import KnownModel
from memories.metadata_field import MetadataField
from memories.models import Memory, PartitionSummary
from memories.services.bulk import ACT_MEMORIES_MAX, ACTS, KIND
from memories.services.content import ContentError, check_content, normalise_content
from memories.services.drafts import is_word
from memories.services.partitions import PartitionError, PartitionPath, parse_partition
from memory_platform.plain_forms import PlainForm

COMMON_KINDS = ("fact", "preference", "procedure", "episode", "synthesis")
QUERY_MAX_CHARACTERS = 4_000
#: Rows of a list that one act may be about, and digits of a row's number.
ROWS_CHOSEN_MAX = 200
DIGITS_MAX = 18
#: Characters of the query of a list that somebody comes from.
BACK_MAX_CHARACTERS = 12_000
KIND_REFUSED = "One word in small letters, such as fact or preference."


class PartitionField(forms.CharField):
    """A partition path in its canonical form; empty is the tenant's root."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=2_500, **kwargs)

    def clean(self, value: Any) -> str:
        try:
            return parse_partition(super().clean(value).strip("/")).path
        except PartitionError as error:
            raise ValidationError(error.detail, code=error.code) from error


class KindField(forms.CharField):
    """The kind of a memory, by the rule of the verbs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, max_length=32, **kwargs)

    def clean(self, value: Any) -> str:
        kind = str(super().clean(value))
        if kind and not is_word(kind):
            raise ValidationError(KIND_REFUSED, code="bad_kind")
        return kind


class MemoryFilterForm(PlainForm):
    """How the list of memories is narrowed; everything is optional and stands in the address."""

    STATES = [("", "Live"), ("archived", "Archived"), ("expired", "Expired"), ("failed", "Embedding failed")]

    q = forms.CharField(required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
    kind = forms.CharField(required=False, max_length=32)
    state = forms.ChoiceField(required=False, choices=STATES)
    pinned = forms.BooleanField(required=False)


class MergeSearchForm(PlainForm):
    """What the memory to merge with is searched by."""

    q = forms.CharField(label="Search", required=False, max_length=QUERY_MAX_CHARACTERS)


class MemoryForm(PlainForm):
    """The fields of a memory that an operator may change; `seen_version` is the version they saw."""

    seen_version = forms.IntegerField(min_value=1)
    content = forms.CharField(strip=False)
    kind = KindField()
    confidence = forms.FloatField(min_value=0, max_value=1)
    expires_at = forms.DateTimeField(required=False)
    metadata = MetadataField(required=False)

    def clean_content(self) -> Any:
        return _checked(check_content, normalise_content(_with_plain_line_ends(self.cleaned_data["content"])))

    def clean_metadata(self) -> Any:
        return self.cleaned_data["metadata"] or {}

    def changes_to(self, memory: Memory) -> dict[str, Any]:
        """The valid fields that differ from `memory`, apart from what a browser cannot carry back."""
        fields = {name: value for name, value in self.cleaned_data.items() if name != "seen_version"}
        before = initial_of(memory) | {"content": _with_plain_line_ends(memory.content)}
        if before["expires_at"] is not None:
            before["expires_at"] = before["expires_at"].replace(microsecond=0)
        return {name: value for name, value in fields.items() if value != before[name]}


class PartitionForm(PlainForm):
    """A partition in an address."""

    partition = PartitionField()


class PartitionsForm(PartitionForm):
    """Which part of the tree is shown: the levels down to a partition, or those with a text in their path.

    `after` is the path behind which a list goes on.
    """

    q = forms.CharField(label="Search", required=False, max_length=200)
    after = PartitionField()

    def place(self) -> PartitionPath:
        """The valid partition."""
        return parse_partition(self.cleaned_data["partition"])


class TextForm(PlainForm):
    """A text of versions; `seen_version` is the one its editor saw, 0 for none. An empty text is allowed."""

    seen_version = forms.IntegerField(min_value=0)
    content = forms.CharField(label="Text", required=False, strip=False)

    def clean_content(self) -> Any:
        text = normalise_content(_with_plain_line_ends(self.cleaned_data["content"]))
        return _checked(check_content, text) if text else ""


class SummaryForm(TextForm):
    """The text of a partition's summary in one style, which is not empty."""

    style = forms.ChoiceField(choices=PartitionSummary.Style.choices)

    def clean_content(self) -> Any:
        return _checked(check_content, normalise_content(_with_plain_line_ends(self.cleaned_data["content"])))


class SnapshotForm(PlainForm):
    """A name for a recorded time (UTC); without one, for now."""

    name = forms.CharField(max_length=100)
    recorded_at = forms.DateTimeField(label="Recorded time", required=False)


class ComparisonForm(PartitionForm):
    """What a snapshot is compared with, and where a list of what differs goes on."""

    kind = forms.ChoiceField(required=False, choices=[("added", ""), ("changed", ""), ("removed", "")])
    behind = forms.UUIDField(required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # A word of the language
        self.fields["with"] = forms.CharField(required=False, max_length=36)


class HygieneFilterForm(PlainForm):
    """How a list of findings is narrowed and ordered; everything is optional and stands in the address."""

    partition = PartitionField()
    sort = forms.ChoiceField(required=False)

    def __init__(self, data: Any, *, sorts: Iterable[str]) -> None:
        super().__init__(data, label_suffix="")
        self.sorts = list(sorts)
        self.fields["sort"] = forms.ChoiceField(required=False, choices=[(name, name) for name in self.sorts])

    def clean_sort(self) -> str:
        return str(self.cleaned_data["sort"] or self.sorts[0])


class NumbersField(forms.Field):
    """Numbers of rows, each once, as many as one act may be about."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> list[int]:
        texts = list(dict.fromkeys(value or ()))
        if not 0 < len(texts) <= ROWS_CHOSEN_MAX:
            raise ValidationError(f"Choose 1 to {ROWS_CHOSEN_MAX} rows.", code="out_of_range")
        if not all(text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX for text in texts):
            raise ValidationError("A row is named by its number.", code="not_a_number")
        return [int(text) for text in texts]


class HygieneActForm(PlainForm):
    """An act on rows of a list; `keep` is the memory that a merge keeps, where somebody chose one."""

    act = forms.ChoiceField(choices=[("merge", "merge"), ("archive", "archive"), ("dismiss", "dismiss")])
    id = NumbersField()
    keep = forms.UUIDField(required=False)


class ChosenField(forms.Field):
    """Memories with the versions they were seen in, `id:version` separated by spaces, each once."""

    def clean(self, value: Any) -> dict[UUID, int]:
        pairs = [pair.partition(":") for pair in str(value or "").split()[: ACT_MEMORIES_MAX + 1]]
        if not 0 < len(pairs) <= ACT_MEMORIES_MAX:
            raise ValidationError(f"One act is about 1 to {ACT_MEMORIES_MAX:,} memories.", code="out_of_range")
        try:
            seen = {UUID(memory_id): int(version) for memory_id, _, version in pairs if len(version) <= DIGITS_MAX}
        except ValueError:
            seen = {}
        if len(seen) < len(pairs):
            raise ValidationError("A memory is named by its id and version, once.", code="not_an_id")
        return seen


class BulkChoiceForm(PlainForm):
    """Which memories of the list an act is to be about; `back` is the query of the list."""

    CHOSEN, PAGE, MATCHING = "chosen", "page", "matching"
    SCOPES = [(CHOSEN, "chosen"), (PAGE, "page"), (MATCHING, "matching")]

    act = forms.ChoiceField(choices=[(name, name) for name in ACTS])
    scope = forms.ChoiceField(required=False, choices=SCOPES)
    id = forms.TypedMultipleChoiceField(required=False)
    back = forms.CharField(required=False, max_length=BACK_MAX_CHARACTERS)

    def clean_back(self) -> str:
        """Read here, so that no list but the one that was meant is chosen from."""
        try:
            return QueryDict(self.cleaned_data["back"]).urlencode()
        except TooManyFieldsSent as error:
            raise ValidationError("The address of the list has too many fields.", code="too_long") from error

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        ids = data.getlist("id")[:ROWS_CHOSEN_MAX]
        self.fields["id"] = forms.TypedMultipleChoiceField(
            required=False, coerce=UUID, choices=[(text, text) for text in ids if _is_id(text)]
        )


class BulkActForm(PlainForm):
    """An act on memories as they were seen; a new kind for that act, the one to keep for a merge."""

    act = forms.ChoiceField(choices=[(name, name) for name in ACTS])
    chosen = ChosenField()
    to_kind = KindField(label="New kind", required=False)
    keep = forms.UUIDField(required=False)
    back = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.cleaned_data
        if fields.get("act") == KIND and not fields.get("to_kind") and "to_kind" not in self.errors:
            self.add_error("to_kind", "Say which kind.")
        return fields


class ReembeddingForm(PlainForm):
    """Which model to fill beside the active one, and whether searches switch to it by themselves."""

    model = forms.ChoiceField()
    switches_when_filled = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, models: Sequence[KnownModel], **options: Any) -> None:
        super().__init__(*args, **options)
        choices = cast(forms.ChoiceField, self.fields["model"])
        choices.choices = [(model.name, _place_of(model)) for model in models]


class ApiKeyForm(PlainForm):
    """A key to make; what it may do includes what stands above it."""

    LEVELS = [("read", "Read"), ("write", "Read and write"), ("admin", "Administer")]

    name = forms.RegexField(
        r"^.+\Z", max_length=50, error_messages={"invalid": "A name of 1 to 50 characters on one line."}
    )
    level = forms.ChoiceField(label="May", choices=LEVELS, initial="write")
    partition = PartitionField()
    refuses_recalled_text = forms.BooleanField(required=False, initial=True)

    def scopes(self) -> list[str]:
        """Of the valid form: the chosen one and those it includes."""
        levels = [level for level, _ in self.LEVELS]
        return levels[: levels.index(self.cleaned_data["level"]) + 1]


class AuditFilterForm(PlainForm):
    """How the audit log is narrowed; everything is optional and stands in the address."""

    actor = forms.CharField(label="Who", required=False, max_length=150)
    verb = forms.CharField(label="What", required=False, max_length=64)
    target_kind = forms.CharField(label="Kind of object", required=False, max_length=64)
    target_id = forms.CharField(label="Id of the object", required=False, max_length=150)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)

    def clean_verb(self) -> str:
        return _as_stored(self.cleaned_data["verb"])

    def clean_target_kind(self) -> str:
        return _as_stored(self.cleaned_data["target_kind"])


class LanguageForm(PlainForm):
    """The language that a tenant's memories are searched in."""

    language = forms.ChoiceField()

    def __init__(self, *args: Any, languages: Iterable[str], **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.ChoiceField, self.fields["language"]).choices = [(name, name) for name in languages]


class MemberForm(PlainForm):
    """Who is to see the tenant."""

    username = forms.CharField(label="User name", max_length=150)


def _as_stored(words: str) -> str:
    """Archive memory -> archive_memory."""
    return words.strip().lower().replace(" ", "_")


def _place_of(model: KnownModel) -> str:
    place = "on this machine" if model.is_local else "over the network"
    return f"{model.name}, {model.dimension} numbers, {place}"


def initial_of(memory: Memory) -> dict[str, Any]:
    """A memory as the form shows it before anything was typed."""
    return {
        "seen_version": memory.version,
        "content": memory.content,
        "kind": memory.kind,
        "confidence": memory.confidence,
        "expires_at": memory.expires_at,
        "metadata": memory.metadata,
    }


def _with_plain_line_ends(text: str) -> str:
    """Browsers send line ends as CR LF whatever the text had."""
    return text.replace("\r\n", "\n")


def _is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


def _checked(check: Callable[[Any], None], value: Any) -> Any:
    try:
        check(value)
    except ContentError as error:
        raise ValidationError(error.detail, code=error.code) from error
    return value
