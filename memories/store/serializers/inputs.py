"""Input serializers of memories."""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any

from rest_framework import serializers

from memories.models import ApiKey
from memories.models.memory import KIND_PATTERN
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import MAX_CONTENT_BYTES, check_content, check_metadata
from memories.services.store.drafts import (
    MAX_LABEL_CHARACTERS,
    MAX_LINKS,
    MAX_SUPERSEDED,
    SUPERSEDES,
    NewLink,
    NewMemory,
)
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.serializers.partitions import (
    SHORTHAND,
    PartitionFilterInput,
    PartitionScopedInput,
    exact_field,
    requested_partition,
)
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.serializers import ROW_PROBLEMS_MAX, RowChecker, StrictSerializer, bounded_errors, flat_errors

AS_OF_HELP = "Return the versions that were valid at this time (inclusive). Must not be in the future."
BULK_ROWS_MAX = 1000
QUERY_CHARACTERS_MAX = 32 * 1024


def content_field(**kwargs: Any) -> RuleCheckedField:
    """Return the field of a memory's text, which is trimmed."""
    shape = {"type": "string", "minLength": 1, "maxLength": MAX_CONTENT_BYTES}
    return RuleCheckedField(
        rule=check_content, shape=shape, help_text="1 character to 32 KiB after trimming.", **kwargs
    )


def metadata_field(**kwargs: Any) -> RuleCheckedField:
    """Return the field of a JSON object of the caller."""
    shape = {"type": "object", "additionalProperties": True}
    return RuleCheckedField(rule=check_metadata, shape=shape, help_text="JSON object of at most 8 KiB.", **kwargs)


def kind_field(**kwargs: Any) -> StrictTextField:
    """Return the field of a kind: a word such as fact, preference, procedure, episode, synthesis."""
    detail = "Must be a lower-case word of at most 32 letters, digits, _ and -, such as fact."
    return StrictTextField(pattern=KIND_PATTERN, pattern_code="bad_kind", pattern_detail=detail, **kwargs)


def version_condition_field() -> StrictIntegerField:
    """Return the field of the version that an upsert requires, as `If-Match` does for a single memory."""
    help_text = (
        "The version that the memory of the `source_id` must have, 0 if there must be none; else `stale_version`."
    )
    return StrictIntegerField(allow_null=True, default=None, help_text=help_text)


def versions_allowed(if_version: int | None) -> Collection[int] | None:
    """Return the value of the field as `NewMemory.if_versions`."""
    return None if if_version is None else {if_version}


class LinkInput(StrictSerializer):
    """A link to another memory of the tenant."""

    target_id = StrictUuidField()
    kind = kind_field(default="related")


class MemoryFields(PartitionScopedInput):
    """The fields of new memories and changes."""

    content = content_field()
    kind = kind_field(default="fact")
    confidence = StrictNumberField(minimum=0, maximum=1, default=0.8)
    pinned = StrictBooleanField(default=False)
    metadata = metadata_field(default=dict)
    created_at = StrictDateTimeField(is_past=True, allow_null=True, default=None)
    expires_at = StrictDateTimeField(allow_null=True, default=None)
    source_id = StrictTextField(max_length=MAX_LABEL_CHARACTERS, default="")
    session = StrictTextField(max_length=MAX_LABEL_CHARACTERS, default="")
    position = StrictIntegerField(allow_null=True, default=None)


class MemoryInput(MemoryFields):
    """A new memory."""

    links = StrictListField(child=LinkInput(), default=list, max_length=MAX_LINKS)
    supersedes = StrictListField(
        child=StrictUuidField(),
        default=list,
        max_length=MAX_SUPERSEDED,
        help_text="Live memories that this one replaces: they are archived, linked from it by `supersedes`, and"
        " true until its `created_at`. Each must be in the same partition, or above or below it. Restoring one undoes"
        " this.",
    )
    superseded_versions = StrictListField(
        child=StrictIntegerField(minimum=1),
        default=list,
        max_length=MAX_SUPERSEDED,
        help_text="The version that each memory in `supersedes` must have, in the same order; else `stale_version`.",
    )


class ConditionalMemoryInput(MemoryInput):
    """A row of a bulk request or a file: a new memory, and the condition under which it is stored."""

    if_version = version_condition_field()


def build_new_memory(values: dict[str, Any], partition: PartitionPath, given: Iterable[str] = ()) -> NewMemory:
    """Return the memory that the validated values of a `MemoryInput` describe; `given` are the names in the input."""
    own = {name: value for name, value in values.items() if name not in SHORTHAND}
    links = tuple(NewLink(**link) for link in values["links"])
    own |= {"partition": partition, "links": links, SUPERSEDES: tuple(values[SUPERSEDES])}
    own["superseded_versions"] = tuple(values["superseded_versions"])
    own["if_versions"] = versions_allowed(own.pop("if_version", None))
    return NewMemory(**own, given=frozenset(given))


class CheckedRows:
    """The rows of a request or a file, checked one by one: the valid ones and the faults of the others, by number.

    `place` returns the partition to write to for the requested one, or raises a `PlatformError`.
    """

    def __init__(
        self,
        kind: type[MemoryInput],
        place: Callable[[PartitionPath | None], PartitionPath],
        *,
        key: ApiKey | None = None,
        now: datetime,
    ) -> None:
        # One serializer checks all rows, because creating it takes longer than using it.
        self._checker, self._place = RowChecker(kind(context={"now": now, "key": key})), place
        self.valid: dict[int, NewMemory] = {}
        self.faults: dict[int, list[dict[str, str]]] = {}

    def add(self, number: int, row: Any) -> None:
        """Check a row."""
        try:
            values = self._checker.check(row)
            self.valid[number] = build_new_memory(values, self._place(requested_partition(values)), row)
        except serializers.ValidationError as error:
            self.faults[number] = bounded_errors(flat_errors(error.detail), ROW_PROBLEMS_MAX)
        except PlatformError as error:
            self.add_fault(number, error)

    def add_fault(self, number: int, error: PlatformError | RestError) -> None:
        """Add a row that could not be read, or that must not be written."""
        self.faults[number] = [{"field": error.field, "code": error.code, "detail": str(error.detail)}]


class MemoryChanges(MemoryFields):
    """Changes of a memory; absent fields do not change."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, partial=True, **kwargs)


class BulkRowsField(StrictField):
    """The rows of a bulk request, validated one by one later, so that an invalid row does not stop the others."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.refuse("not_a_list", "Must be a list of memories.")
        if not 1 <= len(data) <= BULK_ROWS_MAX:
            self.refuse("bad_length", f"A bulk request must have 1 to {BULK_ROWS_MAX:,} memories.")
        return data


class MemoryBulkInput(StrictSerializer):
    """Memories to store, up to 1,000."""

    memories = BulkRowsField()


class MemoryBulkInputSchema(StrictSerializer):
    """`MemoryBulkInput` as the schema shows it."""

    memories = StrictListField(child=ConditionalMemoryInput(), min_length=1, max_length=BULK_ROWS_MAX)


#: Orderings of the list.
_ORDERINGS = ("created_at", "updated_at", "confidence", "usefulness_score", "retrieval_count")


class MemoryListInput(PartitionFilterInput, PageInput):
    """The query parameters of a list."""

    exact = exact_field(takes_text=True)
    kind = kind_field(required=False)
    pinned = StrictBooleanField(required=False, takes_text=True)
    q = StrictTextField(
        min_length=1, max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Words that the text contains."
    )
    created_after = StrictDateTimeField(required=False, help_text="Inclusive.")
    created_before = StrictDateTimeField(required=False, help_text="Exclusive.")
    archived = StrictBooleanField(
        default=False, takes_text=True, help_text="Archived memories instead of live ones; not with `as_of`."
    )
    as_of = StrictDateTimeField(is_over=True, required=False, help_text=AS_OF_HELP)
    ordering = StrictChoiceField(
        default="-created_at", choices=[sign + name for name in _ORDERINGS for sign in ("", "-")]
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject `archived` at a past time: only the history shows what was archived then."""
        if attrs["archived"] and "as_of" in attrs:
            detail = "Archived memories cannot be read as of a time."
            raise serializers.ValidationError({"archived": [serializers.ErrorDetail(detail, "not_with_as_of")]})
        return super().validate(attrs)
