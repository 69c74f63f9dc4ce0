"""The rows of a bulk request, and the ids of stored memories."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.exceptions import ValidationError

from memories.models import ApiKey
from memories.services.store.drafts import NewMemory
from memories.store.actions.store import StoreResult, StoreStatus
from memories.store.serializers.inputs import MemoryInput, build_new_memory
from memories.tenancy.api.permissions import writable_partition
from memories.tenancy.exceptions import Forbidden
from memories.tenancy.serializers.partitions import requested_partition
from memory_platform.rest.serializers import flat_errors


def stored_memory_ids(results: Iterable[StoreResult]) -> list[UUID]:
    """Return the ids of the memories that contain the texts."""
    return [result.memory.pk for result in results if result.memory is not None]


def created_memory_ids(results: Iterable[StoreResult]) -> list[UUID]:
    """Return the ids of the memories that were created."""
    return stored_memory_ids(result for result in results if result.status == StoreStatus.CREATED)


class BulkRows:
    """The rows of a bulk request: the valid ones in order, and the faults of the others."""

    def __init__(self, rows: Sequence[Any], *, key: ApiKey, now: datetime) -> None:
        self.faults: dict[int, list[dict[str, str]]] = {}
        self._valid: dict[int, NewMemory] = {}
        # One serializer checks all rows: building it costs more than using it.
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

    def results(self, stored: Sequence[StoreResult]) -> list[dict[str, Any]]:
        """Return the values of a `MemoryBulkResultOutput` per row, in their order; `stored` are those of `valid`."""
        results: dict[int, dict[str, Any]] = {
            index: {"index": index, "status": "invalid", "id": None, "errors": faults}
            for index, faults in self.faults.items()
        }
        for index, result in zip(self._valid, stored, strict=True):
            memory_id = result.memory and result.memory.pk
            results[index] = {"index": index, "status": result.status, "id": memory_id, "errors": result.problems}
        return [results[index] for index in sorted(results)]
