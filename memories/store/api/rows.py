"""From checked fields to new memories, one or many."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.exceptions import ValidationError

from memories.models import ApiKey
from memories.services.partitions.paths import PartitionPath
from memories.services.store.drafts import NewLink, NewMemory
from memories.store.actions.store import StoreResult, StoreStatus
from memories.store.serializers.inputs import MemoryInput
from memories.tenancy.api.permissions import writable_partition
from memories.tenancy.exceptions import Forbidden
from memories.tenancy.serializers.partitions import requested_partition
from memory_platform.rest.serializers import flat_errors

_PLACE_FIELDS = {"partition", "user_id", "agent_id", "run_id", "links"}


def build_new_memory(values: dict[str, Any], partition: PartitionPath) -> NewMemory:
    """The memory that checked fields describe."""
    own = {name: value for name, value in values.items() if name not in _PLACE_FIELDS}
    links = tuple(NewLink(link["target_id"], link["kind"]) for link in values["links"])
    return NewMemory(partition=partition, links=links, **own)


def stored_memory_ids(results: Iterable[StoreResult]) -> list[UUID]:
    """The memories that hold the texts."""
    return [result.memory.pk for result in results if result.memory is not None]


def created_memory_ids(results: Iterable[StoreResult]) -> list[UUID]:
    """The new ones among them."""
    return stored_memory_ids(result for result in results if result.status == StoreStatus.CREATED)


class BulkRows:
    """The rows of a bulk: the valid ones in order, and the faults of the others."""

    def __init__(self, rows: Sequence[Any], *, key: ApiKey, now: datetime) -> None:
        self.faults: dict[int, list[dict[str, str]]] = {}
        self._valid: dict[int, NewMemory] = {}
        # One serializer checks all rows: making it costs more than using it.
        checker = MemoryInput(context={"now": now, "key": key})
        for index, row in enumerate(rows):
            try:
                values = checker.run_validation(row)
                self._valid[index] = build_new_memory(values, writable_partition(key, requested_partition(values)))
            except ValidationError as error:
                self.faults[index] = flat_errors(error.detail)
            except Forbidden as error:
                self.faults[index] = [{"field": error.field, "code": error.code, "detail": error.detail}]

    @property
    def valid(self) -> list[NewMemory]:
        """The rows to store."""
        return list(self._valid.values())

    def answers(self, results: Sequence[StoreResult]) -> list[dict[str, Any]]:
        """One answer per row, in their order; `results` are those of `valid`."""
        answers = {
            index: {"index": index, "status": "invalid", "id": None, "errors": faults}
            for index, faults in self.faults.items()
        }
        for index, result in zip(self._valid, results, strict=True):
            answers[index] = {
                "index": index,
                "status": str(result.status),
                "id": str(result.memory.pk) if result.memory else None,
                "errors": [
                    {"field": problem.field, "code": problem.code, "detail": problem.detail}
                    for problem in result.problems
                ],
            }
        return [answers[index] for index in sorted(answers)]
