"""Input and output serializers of partitions, summaries, the tenant memo, links and snapshots."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from rest_framework import serializers

from memories.models import PartitionSummary, TenantMemo
from memories.partitions.actions import SNAPSHOT_NAME_CHARACTERS_MAX
from memories.partitions.queries.changes import CHANGE_KINDS
from memories.services.store.content import MAX_CONTENT_BYTES, CodedError, check_content, normalise_content
from memories.services.tokens import ENCODINGS
from memories.store.serializers.answers import MemoryTextOutput, TokenCountsOutput
from memories.store.serializers.inputs import content_field, kind_field
from memories.tenancy.serializers.api_keys import name_field
from memories.tenancy.serializers.partitions import PartitionScopedInput, path_field
from memory_platform.rest import fields
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.serializers import StrictSerializer

PRESENT_REFERENCE = "now"
UUID_CHARACTERS = 36
_STYLES = tuple(PartitionSummary.Style.values)


def _content_or_nothing(value: Any) -> str:
    if isinstance(value, str) and not value.strip():
        return ""
    check_content(value)
    return normalise_content(value)


class PartitionInput(PartitionScopedInput):
    """A new partition."""


class PartitionListInput(PageInput):
    """The query parameters of the list of partitions."""

    partition = path_field(help_text="This partition and all below it.")


class PartitionAddress(StrictSerializer):
    """The partition in a URL, already percent-decoded once."""

    partition = path_field()


class SummaryInput(StrictSerializer):
    """The text of a partition's summary in one style."""

    content = content_field()
    style = fields.StrictChoiceField(choices=_STYLES, default=_STYLES[0])  # type: ignore[assignment]


class SummaryListInput(PageInput):
    """The query parameters of the summaries of a partition."""

    style = fields.StrictChoiceField(choices=_STYLES, required=False)  # type: ignore[assignment]
    versions = fields.StrictBooleanField(default=False, takes_text=True, help_text="Include superseded versions.")


class SummaryStyleInput(StrictSerializer):
    """The style that selects a summary of a partition."""

    style = fields.StrictChoiceField(choices=_STYLES, default=_STYLES[0])  # type: ignore[assignment]


class MemoInput(StrictSerializer):
    """The memo; an empty one removes it from contexts."""

    content = fields.RuleCheckedField(
        rule=_content_or_nothing,
        shape={"type": "string", "maxLength": MAX_CONTENT_BYTES},
        help_text='At most 32 KiB; "" for none.',
    )


class PartitionOutput(serializers.Serializer[Any]):
    """A partition."""

    partition = serializers.CharField(source="path", help_text='Path; "" is the root.')
    depth = serializers.IntegerField()
    memory_count = serializers.IntegerField(help_text="Live memories in it, without those below.")
    summary_styles = serializers.ListField(child=serializers.CharField())


class PartitionSummaryOutput(serializers.Serializer[Any]):
    """One version of a partition's summary; `id` is stable through its versions."""

    id = serializers.UUIDField(source="summary_id")
    partition = serializers.CharField(source="partition.path")
    style = serializers.ChoiceField(choices=_STYLES)  # type: ignore[assignment]
    version = serializers.IntegerField()
    content = serializers.CharField()
    token_counts = TokenCountsOutput()
    origin = serializers.ChoiceField(choices=PartitionSummary.Origin.values)
    summariser = serializers.CharField(
        allow_blank=True,
        help_text="For a roll-up, `extractive` (rules) or `openai` (a model); blank for other origins.",
    )
    is_fallback = serializers.BooleanField(help_text="The model failed, so the roll-up is extractive.")
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="Null while current.")


#: The memo of a tenant that has never set one.
NO_MEMO = TenantMemo(content="", version=0, **{f"tokens_{encoding}": 0 for encoding in ENCODINGS})


class TenantMemoOutput(serializers.Serializer[Any]):
    """The tenant's memo."""

    content = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField(help_text="0 if no memo was ever set.")
    token_counts = TokenCountsOutput()
    recorded_from = serializers.DateTimeField(allow_null=True)


class NewLinkInput(StrictSerializer):
    """A new link from one memory to another."""

    source_id = fields.StrictUuidField()
    target_id = fields.StrictUuidField()
    kind = kind_field(default="related")


class LinkListInput(PageInput):
    """The query parameters of the list of links."""

    source_id = fields.StrictUuidField(required=False)
    target_id = fields.StrictUuidField(required=False)
    kind = kind_field(required=False)


class LinkOutput(serializers.Serializer[Any]):
    """A link between two memories."""

    id = serializers.IntegerField()
    source_id = serializers.UUIDField()
    target_id = serializers.UUIDField()
    kind = serializers.CharField()
    recorded_from = serializers.DateTimeField()
    recorded_to = serializers.DateTimeField(allow_null=True, help_text="When it was ended; null for a current link.")


class SnapshotInput(StrictSerializer):
    """A name for a recorded time."""

    name = name_field(SNAPSHOT_NAME_CHARACTERS_MAX)
    recorded_at = fields.StrictDateTimeField(
        is_over=True, allow_null=True, default=None, help_text="Default: now; not in the future."
    )


def _now_or_id(value: Any) -> UUID | None:
    if value == PRESENT_REFERENCE:
        return None
    if isinstance(value, str) and len(value) == UUID_CHARACTERS:
        with suppress(ValueError):
            return UUID(value)
    raise CodedError("invalid_choice", "Must be `now` or the id of a snapshot.")


class SnapshotComparisonInput(PageInput):
    """The query parameters of a comparison. Without `kind` each list starts from its beginning."""

    partition = path_field(help_text="Only this partition and all below it.")
    kind = fields.StrictChoiceField(choices=CHANGE_KINDS, required=False, help_text="Only this list.")

    def get_fields(self) -> dict[str, Any]:
        """Add the parameter whose name is a Python keyword."""
        what = "`now`, or the id of another snapshot."
        shape = {"type": "string", "default": PRESENT_REFERENCE, "description": what}
        named = fields.RuleCheckedField(rule=_now_or_id, shape=shape, default=None)
        return {**super().get_fields(), "with": named}


class SnapshotOutput(serializers.Serializer[Any]):
    """A named recorded time."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    recorded_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)


class PointInTimeOutput(serializers.Serializer[Any]):
    """One of the two compared times."""

    id = serializers.UUIDField(allow_null=True, help_text="Id of the snapshot; null: now.")
    name = serializers.CharField()
    recorded_at = serializers.DateTimeField()


class ChangeCountsOutput(serializers.Serializer[Any]):
    """The number of memories of each kind of change, including those on other pages."""

    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    removed = serializers.IntegerField()


class MemoryChangeOutput(serializers.Serializer[Any]):
    """The text of a memory before and after; null where it was not live."""

    id = serializers.UUIDField(source="memory_id")
    before = MemoryTextOutput(allow_null=True)
    after = MemoryTextOutput(allow_null=True)


class SnapshotNextPagesOutput(serializers.Serializer[Any]):
    """The next page of each list; null on the last one."""

    added = serializers.URLField(allow_null=True)
    changed = serializers.URLField(allow_null=True)
    removed = serializers.URLField(allow_null=True)


class SnapshotComparisonOutput(serializers.Serializer[Any]):
    """The differences between two times: counts, and a page of each list in the order of ids."""

    before = PointInTimeOutput()
    after = PointInTimeOutput()
    counts = ChangeCountsOutput()
    added = MemoryChangeOutput(many=True)
    changed = MemoryChangeOutput(many=True)
    removed = MemoryChangeOutput(many=True)
    next = SnapshotNextPagesOutput()
