"""Forms of memories: filter, edit, merge and bulk actions."""

from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.exceptions import TooManyFieldsSent, ValidationError
from django.forms.fields import InvalidJSONInput
from django.http import QueryDict

from memories.models import Memory
from memories.services.partitions.paths import parse_partition
from memories.services.store.bulk import BULK_CHANGE_KIND, BULK_MEMORIES_MAX, LISTED_ACTIONS, MOVE
from memories.services.store.content import check_content, check_metadata, normalise_content
from memories.services.store.drafts import MAX_LABEL_CHARACTERS, NewMemory, is_kind_name
from memories.services.store.import_export_files import FILE_TYPES, file_type_of, unpack_text
from memories.tenancy.forms import PartitionField, checked, with_unix_line_ends
from memory_platform.web.forms import PlatformForm

COMMON_KINDS = ("fact", "preference", "procedure", "episode", "synthesis")
#: Kinds of links that a form offers; others can be typed.
DEFAULT_LINK_KIND = "related"
COMMON_LINK_KINDS = (DEFAULT_LINK_KIND, "supports", "contradicts", "explains")
#: Maximum characters of the text that a list is searched for.
QUERY_MAX_CHARACTERS = 800
#: Maximum characters of such a text when percent-encoded, because the URLs of the list and back to it contain it.
QUERY_ENCODED_MAX = 3_200
#: Maximum rows of a list in one bulk action, and maximum digits of a version number.
ROWS_SELECTED_MAX = 200
DIGITS_MAX = 18
#: Maximum characters of the query string of the list to return to.
BACK_MAX_CHARACTERS = 12_000


class KindField(forms.CharField):
    """The kind of a memory, checked by the rule of the actions."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, max_length=32, **kwargs)

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value and not is_kind_name(value):
            raise ValidationError("Enter one lower-case word, such as fact or preference.", code="bad_kind")


class SearchTextField(forms.CharField):
    """A text that is sent in a URL, whose length is limited (ADR-0307)."""

    def __init__(self, *, label: str = "Search", max_length: int = QUERY_MAX_CHARACTERS, **kwargs: Any) -> None:
        super().__init__(label=label, required=False, max_length=max_length, **kwargs)

    def validate(self, value: Any) -> None:
        super().validate(value)
        encoded = len(quote(value))
        if encoded > QUERY_ENCODED_MAX:
            fitting = min(len(value) * QUERY_ENCODED_MAX // encoded, self.max_length or len(value))
            raise ValidationError(f"Shorten the text to about {fitting:,} characters.", code="too_long")


class MetadataField(forms.JSONField):
    """A JSON object of at most 8 KiB; an empty field is an empty object. Invalid input is shown again as typed."""

    def to_python(self, value: Any) -> Any:
        try:  # the parser raises other errors for deep nesting and very long numbers
            found = super().to_python(value)
        except (ValueError, RecursionError) as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error
        return {} if found is None else checked(check_metadata, found)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the input as typed, because its parsed and rewritten form may differ."""
        if self.disabled:
            return initial
        return None if data is None else InvalidJSONInput(data)


class MemoryIdsField(forms.MultipleChoiceField):
    """Ids of rows of a list, at most `ROWS_SELECTED_MAX`."""

    def clean(self, value: Any) -> list[UUID]:
        try:
            ids = [UUID(text) for text in value]
        except ValueError:
            ids = []
        if len(ids) != len(value) or len(ids) > ROWS_SELECTED_MAX:
            raise ValidationError("Select memories by ID.", code="not_an_id")
        return ids


class MemoryFilterForm(PlatformForm):
    """The filters of the list of memories; all are optional and in the URL."""

    STATES = [("", "Live"), ("archived", "Archived"), ("expired", "Expired"), ("failed", "Embedding failed")]

    MODES = [("", "Both"), ("lexical", "Words"), ("vector", "Meaning")]

    q = SearchTextField()
    mode = forms.ChoiceField(required=False, choices=MODES)
    partition = PartitionField()
    kind = forms.CharField(required=False, max_length=32)
    state = forms.ChoiceField(required=False, choices=STATES)
    pinned = forms.BooleanField(required=False)


class MergeSearchForm(PlatformForm):
    """The search for the memory to merge with."""

    q = SearchTextField()


class MemoryFieldsForm(PlatformForm):
    """The fields of a memory that an operator may enter and change."""

    content = forms.CharField(label="Text", strip=False)
    kind = KindField()
    confidence = forms.FloatField(min_value=0, max_value=1)
    expires_at = forms.DateTimeField(label="Expires", required=False)
    metadata = MetadataField(required=False)

    def clean_content(self) -> Any:
        return checked(check_content, normalise_content(with_unix_line_ends(self.cleaned_data["content"])))


class MemoryNewForm(MemoryFieldsForm):
    """A new memory."""

    partition = PartitionField()
    pinned = forms.BooleanField(required=False)
    source_id = forms.CharField(label="Source ID", required=False, max_length=MAX_LABEL_CHARACTERS)
    #: The live memory that has this source ID already.
    same_source: Memory | None = None

    def new_memory(self) -> NewMemory:
        """Return the memory that the valid fields describe; no live memory may have its source ID."""
        fields = self.cleaned_data | {"partition": parse_partition(self.cleaned_data["partition"])}
        return NewMemory(**fields, if_versions={0} if fields["source_id"] else None)


class MemoryLinkForm(PlatformForm):
    """A link from a memory to another one, named by id or by words that only it contains."""

    memory = forms.CharField(label="Memory", max_length=200)
    link_kind = KindField(label="Kind of link")


class MemoryEditForm(MemoryFieldsForm):
    """The fields of a memory that an operator changes; `seen_version` is the version they saw."""

    seen_version = forms.IntegerField(min_value=1)

    def changes_to(self, memory: Memory) -> dict[str, Any]:
        """Return the valid fields that differ from `memory`, ignoring what a browser cannot preserve."""
        before = memory_form_initial(memory) | {"content": with_unix_line_ends(memory.content)}
        if before["expires_at"] is not None:
            before["expires_at"] = before["expires_at"].replace(microsecond=0)
        fields = self.cleaned_data.items()
        return {name: value for name, value in fields if name != "seen_version" and value != before[name]}


class SelectedMemoriesField(forms.Field):
    """Memories and the versions the operator saw: `id:version` separated by spaces, each once."""

    def clean(self, value: Any) -> dict[UUID, int]:
        pairs = [pair.partition(":") for pair in str(value or "").split()[: BULK_MEMORIES_MAX + 1]]
        if not 0 < len(pairs) <= BULK_MEMORIES_MAX:
            raise ValidationError(f"Select 1 to {BULK_MEMORIES_MAX:,} memories.", code="out_of_range")
        try:
            seen = {UUID(memory_id): int(version) for memory_id, _, version in pairs if len(version) <= DIGITS_MAX}
        except ValueError:
            seen = {}
        if len(seen) < len(pairs):
            raise ValidationError("Select each memory once, by ID and version.", code="not_an_id")
        return seen


class BulkSelectionForm(PlatformForm):
    """The memories selected for a bulk action; `back` is the query string of the list."""

    SELECTED, PAGE, MATCHING = "selected", "page", "matching"
    SCOPES = [(SELECTED, "selected"), (PAGE, "page"), (MATCHING, "matching")]

    action = forms.ChoiceField(choices=[(name, name) for name in LISTED_ACTIONS])
    scope = forms.ChoiceField(required=False, choices=SCOPES)
    id = MemoryIdsField(required=False)
    back = forms.CharField(required=False, max_length=BACK_MAX_CHARACTERS)

    def clean_back(self) -> str:
        """Parse the query string, so that the selection comes from exactly that list."""
        try:
            return QueryDict(self.cleaned_data["back"]).urlencode()
        except TooManyFieldsSent as error:
            raise ValidationError("The list address has too many fields.", code="too_long") from error


class BulkActionForm(PlatformForm):
    """A bulk action on memories in the versions the operator saw, with its new kind or partition or the kept one."""

    action = forms.ChoiceField(choices=[(name, name) for name in LISTED_ACTIONS])
    selected = SelectedMemoriesField()
    to_kind = KindField(label="New kind", required=False)
    to_partition = PartitionField(label="New partition")
    keep = forms.UUIDField(required=False)
    back = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.cleaned_data
        if fields.get("action") == BULK_CHANGE_KIND and not fields.get("to_kind") and "to_kind" not in self.errors:
            self.add_error("to_kind", "Enter a kind.")
        if fields.get("action") == MOVE.name and not fields.get("to_partition") and "to_partition" not in self.errors:
            self.add_error("to_partition", "Enter a partition.")
        return fields


def memory_form_initial(memory: Memory) -> dict[str, Any]:
    """Return the initial values of the edit form."""
    names = ("content", "kind", "confidence", "expires_at", "metadata")
    return {"seen_version": memory.version} | {name: getattr(memory, name) for name in names}


class MemoryExportForm(PlatformForm):
    """What to export, and as which type of file."""

    partition = PartitionField()
    type = forms.ChoiceField(choices=[(name, name) for name in FILE_TYPES], required=False)


class MemoryImportForm(PlatformForm):
    """Memories as a file, as pasted text or as a previewed file, and the partition of those that name none."""

    file = forms.FileField(label="File", required=False)
    pasted = forms.CharField(label="Text", required=False, strip=False)
    packed = forms.CharField(required=False)
    #: What the preview showed of the memories that a line changes: `line:state/versions `, the state for a source ID,
    #: the versions of the memories that it replaces.
    seen = forms.RegexField(
        r"^(?:\d{1,8}:(?:\d{1,10}\.[0-9a-f]{0,8})?(?:/\d{1,10}(?:,\d{1,10})*)? )*$", required=False, strip=False
    )
    type = forms.ChoiceField(choices=[(name, name) for name in FILE_TYPES], required=False)
    partition = PartitionField()
    #: The state of an import: the act of the rows stored so far, the number of rows read, and of rows with each result.
    act = forms.UUIDField(required=False)
    done = forms.IntegerField(required=False, min_value=0)
    created = forms.IntegerField(required=False, min_value=0)
    updated = forms.IntegerField(required=False, min_value=0)
    existing = forms.IntegerField(required=False, min_value=0)
    invalid = forms.IntegerField(required=False, min_value=0)
    #: The first lines that were not stored because their memory had changed since the preview.
    changed = forms.RegexField(r"^(?:\d{1,8} )*$", required=False, strip=False)

    def counts(self) -> dict[str, int]:
        """Return how many rows had each result so far."""
        return {name: self.cleaned_data[name] or 0 for name in ("created", "updated", "existing", "invalid")}

    def seen_states(self) -> dict[int, tuple[str, tuple[int, ...]]]:
        """Return the states and versions in `seen` by their lines; "" and () for none."""
        pairs = (pair.partition(":") for pair in self.cleaned_data["seen"].split())
        states: dict[int, tuple[str, tuple[int, ...]]] = {}
        for line, _, seen in pairs:
            state, _, versions = seen.partition("/")
            states[int(line)] = state, tuple(int(version) for version in versions.split(",") if version)
        return states

    def changed_lines(self) -> list[int]:
        return [int(line) for line in self.cleaned_data["changed"].split()]

    def clean_file(self) -> str | None:
        """Return the text of the file, which is UTF-8."""
        file = self.cleaned_data["file"]
        if file is None:
            return None
        if file.size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise ValidationError("The file is larger than 8 MiB.", code="too_large")
        try:
            return str(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValidationError("The file is not UTF-8.", code="not_utf8") from error

    def clean_pasted(self) -> str:
        return with_unix_line_ends(self.cleaned_data["pasted"])

    def clean_packed(self) -> str:
        unpack = partial(unpack_text, bytes_max=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return str(checked(unpack, self.cleaned_data["packed"])) if self.cleaned_data["packed"] else ""

    def clean(self) -> dict[str, Any]:
        """Add `text` and its `type`."""
        fields: dict[str, Any] = self.cleaned_data
        if fields.get("packed") and ("seen" not in self.data or {"seen", "changed"} & self.errors.keys()):
            self.add_error("packed", "The preview is incomplete. Select the file again.")
        texts = [fields[name] for name in ("packed", "file", "pasted") if fields.get(name)]
        if not texts and not self.errors:
            self.add_error("file", "Select a file or paste text.")
        elif texts:
            name = getattr(self.files.get("file"), "name", "")
            fields["text"] = texts[0]
            fields["type"] = fields.get("type") or file_type_of(str(name), texts[0])
        return fields
