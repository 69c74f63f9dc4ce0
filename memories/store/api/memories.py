"""Endpoints of memories: translate, call the verb inside the key's scope, answer."""

from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.embeddings.indexer import index_now
from memories.models import Memory, MemoryVersion
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories, store_memory
from memories.store.api.rows import BulkRows, build_new_memory, created_memory_ids, stored_memory_ids
from memories.store.api.schema import (
    bulk_schema,
    create_memory_schema,
    delete_schema,
    history_schema,
    list_schema,
    patch_schema,
    read_memory_schema,
    restore_schema,
)
from memories.store.serializers.answers import (
    memory_etag,
    serialize_current_version,
    serialize_memory,
    serialize_version,
)
from memories.store.serializers.inputs import (
    MEMORY_LIST_ORDERINGS,
    MemoryBulkInput,
    MemoryChanges,
    MemoryInput,
    MemoryListInput,
)
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, is_etag_current
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import WRITE, readable_partition, writable_partition
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition, requested_segments
from memory_platform.rest.pages import CursorPosition, PageInput, build_page, position_to_row
from memory_platform.rest.serializers import EmptyInput


class MemoryEndpointBase(Endpoint):
    """What the endpoints of one memory share."""

    scopes = WRITE

    def _memory(self, memory_id: UUID, *, is_live: bool = True) -> Memory:
        """The memory within the key's reach; an archived one only where it is asked for."""
        rows = Memory.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).with_answer_parts()
        memory: Memory | None = rows.with_id(memory_id).first()
        if memory is None:
            raise NotFound("not_found", "There is no such memory.")
        if is_live and memory.archived_at is not None:
            raise NotFound("archived", "The memory is archived; POST to its /restore brings it back.")
        return memory

    def _answer(self, memory_id: UUID, status_code: int = 200, **more: Any) -> Response:
        with tenant_scope(self.tenant_id):
            memory = self._memory(memory_id, is_live=False)
            answer = serialize_memory(memory)
        return Response({**answer, **more}, status=status_code, headers={"ETag": memory_etag(answer)})


class MemoryListEndpoint(MemoryEndpointBase):
    """Store one memory; list memories."""

    @create_memory_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Store a memory, or find the live one that already holds this text."""
        values = self.body(MemoryInput)
        row = build_new_memory(values, writable_partition(self.key, requested_partition(values)))
        with tenant_scope(self.tenant_id):
            result = store_memory(
                tenant=self.key.tenant,
                **vars(row),
                refuses_recalled_text=self.key.refuses_recalled_text,
                reach=self.key.partition_prefix,
                by=self.actor,
                now=self.now,
            )
        (memory_id,), new_ids = stored_memory_ids([result]), created_memory_ids([result])
        index_now(self.tenant_id, new_ids)
        code = status.HTTP_201_CREATED if new_ids else status.HTTP_200_OK
        response = self._answer(memory_id, code, status=result.status, reason=result.reason)
        if new_ids:
            response["Location"] = request.build_absolute_uri(f"{request.path_info}/{memory_id}")
        return response

    @list_schema
    def get(self, request: Request) -> Response:
        """Live memories (or archived ones) that meet the query parameters."""
        values = self.query(MemoryListInput)
        partition = readable_partition(self.key, values["partition"])
        ordering = values["ordering"]
        column = ordering.replace("updated_at", "recorded_from")

        def rows_from(place: CursorPosition | None, count: int) -> list[Memory]:
            rows = Memory.objects.for_tenant(self.tenant_id)
            rows = rows.archived() if values["archived"] else rows.live(self.now)
            rows = rows.within(partition.path, exact=values["exact"]).with_segments(requested_segments(values))
            rows = rows.created_between(values.get("created_after"), values.get("created_before"))
            rows = rows.of_kind(values["kind"]) if "kind" in values else rows
            rows = rows.pinned(values["pinned"]) if "pinned" in values else rows
            rows = rows.matching(values["q"]) if "q" in values else rows
            return list(rows.with_answer_parts().page(column, **position_to_row(place), count=count))

        with tenant_scope(self.tenant_id):
            page = build_page(
                request,
                values,
                ordering=ordering,
                kinds=(MEMORY_LIST_ORDERINGS[ordering.removeprefix("-")], UUID),
                rows_from=rows_from,
                place_of=lambda memory: (getattr(memory, column.removeprefix("-")), memory.pk),
                answer=serialize_memory,
            )
        return Response(page)


class MemoryBulkEndpoint(MemoryEndpointBase):
    """Store up to 1,000 memories."""

    @bulk_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Store the valid rows and name the faults of the others."""
        rows = BulkRows(self.body(MemoryBulkInput)["memories"], key=self.key, now=self.now)
        with tenant_scope(self.tenant_id):
            results = store_memories(
                tenant=self.key.tenant,
                rows=rows.valid,
                refuses_recalled_text=self.key.refuses_recalled_text,
                reach=self.key.partition_prefix,
                by=self.actor,
                now=self.now,
            )
        index_now(self.tenant_id, created_memory_ids(results))
        return Response({"results": rows.answers(results)})


class MemoryEndpoint(MemoryEndpointBase):
    """One memory."""

    @read_memory_schema
    def get(self, request: Request, memory_id: UUID) -> Response:
        """The memory as it is now."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            memory = self._memory(memory_id)
            answer = serialize_memory(memory)
        etag = memory_etag(answer)
        if is_etag_current(request, etag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    @patch_schema
    def patch(self, request: Request, memory_id: UUID) -> Response:
        """Change some fields; opens a new version."""
        changes = self._changes()
        with tenant_scope(self.tenant_id):
            memory = self._memory(memory_id)
            if_version = if_match_version(request, memory.version)
            memory = update_memory(memory=memory, changes=changes, if_version=if_version, by=self.actor, now=self.now)
        if memory.embedding_state == Memory.EmbeddingState.PENDING:
            index_now(self.tenant_id, [memory.pk])
        return self._answer(memory.pk)

    @delete_schema
    def delete(self, request: Request, memory_id: UUID) -> Response:
        """Archive the memory; it can be restored. Archiving twice is no error."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            memory = self._memory(memory_id, is_live=False)
            if_version = if_match_version(request, memory.version)
            archive_memory(memory=memory, if_version=if_version, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _changes(self) -> dict[str, Any]:
        changes = self.body(MemoryChanges)
        target = requested_partition(changes)
        for name in ("partition", "user_id", "agent_id", "run_id"):
            changes.pop(name, None)
        if target is not None:
            changes["partition"] = writable_partition(self.key, target)
        return changes


class MemoryRestoreEndpoint(MemoryEndpointBase):
    """Bring an archived memory back."""

    @restore_schema
    def post(self, request: Request, memory_id: UUID) -> Response:
        """Make the memory live again as a new version; a live one stays as it is."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            memory = self._memory(memory_id, is_live=False)
            if_version = if_match_version(request, memory.version)
            memory = restore_memory(memory=memory, if_version=if_version, by=self.actor, now=self.now)
        if memory.embedding_state == Memory.EmbeddingState.PENDING:
            index_now(self.tenant_id, [memory.pk])
        return self._answer(memory.pk)


class MemoryHistoryEndpoint(MemoryEndpointBase):
    """All versions of a memory."""

    @history_schema
    def get(self, request: Request, memory_id: UUID) -> Response:
        """Every version with its valid and its recorded interval, newest first; also of an archived memory.

        Versions of a time when the memory was in a partition that the key does not reach are left out.
        """
        values = self.query(PageInput)

        def rows_from(place: CursorPosition | None, count: int) -> list[Any]:
            memory = self._memory(memory_id, is_live=False)
            versions = MemoryVersion.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix)
            older = versions.of_memory(memory_id)
            if place is None:
                return [memory, *older[: count - 1]]
            if not place.is_backward:
                return list(older.older_than(place.number)[:count])
            newer = [*older.newer_than(place.number)[:count]]
            return newer if len(newer) == count or place.number >= memory.version else [*newer, memory]

        def answer(row: Memory | MemoryVersion) -> dict[str, Any]:
            return serialize_current_version(row) if isinstance(row, Memory) else serialize_version(row)

        with tenant_scope(self.tenant_id):
            page = build_page(
                request,
                values,
                ordering="-version",
                kinds=(int, int),
                rows_from=rows_from,
                place_of=lambda row: (row.version, row.version),
                answer=answer,
            )
        return Response(page)
