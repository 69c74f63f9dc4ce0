"""Inputs and outputs of the API of the hygiene lists."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from memories.hygiene.findings import DISMISS, HygieneListLength, suggested_memory
from memories.models import MemoryFinding, MemoryPair
from memories.services.hygiene import rules
from memories.services.store.bulk import BULK_ARCHIVE, BULK_MERGE, RESTORE
from memories.store.serializers.answers import MemoryTextOutput
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

HYGIENE_ROWS_MAX = 200
ROW_ID_MAX = 2**63 - 1


class HygieneListsInput(StrictSerializer):
    """The query parameters of the lengths of all lists."""

    partition = path_field()


class HygieneListInput(HygieneListsInput, PageInput):
    """The query parameters of one list."""

    sort = StrictChoiceField(
        choices=sorted({name for each in rules.LISTS.values() for name in each.sorts}),
        required=False,
        help_text="One of the list's `sorts`; default: the first.",
    )


class HygieneActionInput(StrictSerializer):
    """An action on rows of a list."""

    action = StrictChoiceField(
        choices=(BULK_MERGE, BULK_ARCHIVE, RESTORE, DISMISS),
        help_text="merge for compared pairs, restore for replaced ones, archive for single memories; dismiss for all.",
    )
    ids = StrictListField(
        child=StrictIntegerField(minimum=1, maximum=ROW_ID_MAX), min_length=1, max_length=HYGIENE_ROWS_MAX
    )
    keep = StrictUuidField(allow_null=True, default=None, help_text="For merge: the memory to keep.")
    dry_run = StrictBooleanField(default=False, help_text="Report what would be done without doing it.")


class HygieneListLengthOutput(serializers.Serializer[Any]):
    """One list and its length."""

    name = serializers.CharField(source="list.kind")
    title = serializers.CharField(source="list.title")
    meaning = serializers.CharField(source="list.meaning")
    has_pairs = serializers.BooleanField(source="list.has_pairs")
    sorts = serializers.SerializerMethodField()
    count = serializers.IntegerField()
    is_more = serializers.BooleanField(help_text="Whether counting stopped at this number.")

    def get_sorts(self, row: HygieneListLength) -> list[str]:
        """The orders of the list, the default first."""
        return list(row.list.sorts)


class HygieneListsOutput(serializers.Serializer[Any]):
    """All lists, and how many memories wait to be compared."""

    results = HygieneListLengthOutput(many=True)
    waiting = serializers.IntegerField(help_text="Memories of the requested partition that wait to be compared.")


class ListedMemoryOutput(MemoryTextOutput):
    """A memory in a hygiene list."""

    id = serializers.UUIDField()
    usefulness_score = serializers.FloatField()
    retrieval_count = serializers.IntegerField()


class HygieneRowOutput(serializers.Serializer[Any]):
    """A row of a list: two memories with their similarity, the older first, or one memory."""

    id = serializers.IntegerField()
    kind = serializers.CharField(help_text="The name of the list.")
    memories = ListedMemoryOutput(many=True)
    similarity = serializers.FloatField(allow_null=True, help_text="Cosine of a compared pair; null for others.")
    suggested = serializers.UUIDField(
        allow_null=True, help_text="The memory that a merge keeps by default; null where there is none."
    )
    found_at = serializers.DateTimeField()

    def to_representation(self, instance: MemoryPair | MemoryFinding) -> dict[str, Any]:
        """Return the output for a row that was read `with_memories`."""
        memories, suggested, similarity = [], None, None
        if isinstance(instance, MemoryPair):
            memories, similarity = [instance.older, instance.newer], instance.similarity
            kept = suggested_memory(instance)
            suggested = kept and kept.pk
        else:
            memories = [instance.memory]
        values = {"id": instance.pk, "kind": instance.kind, "found_at": instance.found_at, "memories": memories}
        return super().to_representation({**values, "similarity": similarity, "suggested": suggested})


class HygieneActionOutput(serializers.Serializer[Any]):
    """What an action did, or would do."""

    act_id = serializers.UUIDField(
        allow_null=True,
        help_text="Id for undoing the action; null for a dry run, and for restore, which is itself an undo.",
    )
    action = serializers.CharField()
    ids = serializers.ListField(child=serializers.IntegerField(), help_text="The rows that were still in the list.")
    archived = serializers.ListField(child=serializers.UUIDField())
    kept = serializers.ListField(child=serializers.UUIDField())
    restored = serializers.ListField(child=serializers.UUIDField())

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the output for an effect; the context contains the `act_id`."""
        act_id: UUID | None = self.context["act_id"]
        archived = [memory.pk for memory in instance.archived_memories]
        kept = [group.kept.pk for group in instance.groups]
        restored = [memory.pk for memory in instance.memories if instance.action == RESTORE]
        values = {"act_id": act_id, "action": instance.action, "ids": instance.ids}
        return super().to_representation({**values, "archived": archived, "kept": kept, "restored": restored})


class ActOutput(serializers.Serializer[Any]):
    """An act: a hygiene action, a move, another change of several memories, or the undo of one."""

    act_id = serializers.UUIDField(source="pk")
    action = serializers.CharField(source="act")
    at = serializers.DateTimeField()
    undone_at = serializers.DateTimeField(allow_null=True)


class UndoneActOutput(serializers.Serializer[Any]):
    """An undone act."""

    act_id = serializers.UUIDField(source="act.pk")
    action = serializers.CharField(source="act.act")
    undone = serializers.IntegerField(source="count")
    skipped = serializers.IntegerField(source="left", help_text="Changed since the action and therefore not undone.")
