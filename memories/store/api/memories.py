"""Endpoints of memories."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, TypeVar
from uuid import UUID

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from memories.embeddings.indexer import embed_ahead, index_now
from memories.embeddings.vectors import VectorsAhead
from memories.models import Memory, MemoryVersion
from memories.services.store.content import normalise_content
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.api.schema import IF_MATCH, ONLY_NEW, list_operation, operation
from memories.store.queries.texts import MemoryTextQuerySet
from memories.store.readings import read_page_at
from memories.store.search_scope import SearchScope
from memories.store.serializers.answers import (
    MemoryBulkOutput,
    MemoryOutput,
    MemoryVersionOutput,
    StoredMemoryOutput,
    answer_of_new_memory,
    memory_etag,
)
from memories.store.serializers.inputs import (
    CheckedRows,
    ConditionalMemoryInput,
    MemoryBulkInput,
    MemoryBulkInputSchema,
    MemoryChanges,
    MemoryInput,
    MemoryListInput,
    build_new_memory,
)
from memories.store.serializers.messages import MemoryMessagesInput, MessageMemoriesOutput, message_memories
from memories.store.store_results import StoreResult, StoreStatus
from memories.tenancy.api.body_limits import LARGE_BODY_BYTES, TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, refuse_conditions, stale, upserted_versions
from memories.tenancy.api.idempotency import idempotent_in_steps
from memories.tenancy.api.permissions import WRITE, readable_partition, writable_partition
from memories.tenancy.exceptions import InvalidInput, NotFound, invalid
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope, write_in_tenant_scope
from memories.tenancy.serializers.partitions import SHORTHAND, requested_partition, requested_segments
from memory_platform.rest.cursor_pagination import CursorPosition, PageInput, position_to_row
from memory_platform.rest.serializers import EmptyInput

Rows = TypeVar("Rows", bound=MemoryTextQuerySet)
_NEW_MEMORY = {
    "A preference": {
        "content": "Alex prefers meetings before noon.",
        "kind": "preference",
        "user_id": "alex",
        "confidence": 0.9,
    }
}
_BULK = {
    "Two turns": {
        "memories": [
            {"content": "Alex: I moved to Lisbon.", "partition": "conversation=7", "session": "s1", "position": 0},
            {"content": "Sam: How do you like it?", "partition": "conversation=7", "session": "s1", "position": 1},
        ]
    }
}
_MESSAGES = {
    "Messages of a conversation": {
        "messages": [
            {"role": "user", "name": "Alex", "content": "I moved to Lisbon."},
            {"role": "assistant", "content": "How do you like it?"},
        ],
        "user_id": "alex",
        "session": "s1",
    }
}


def _proxy(name: str, *kinds: type[Serializer[Any]]) -> PolymorphicProxySerializer:
    return PolymorphicProxySerializer(component_name=name, serializers=list(kinds), resource_type_field_name=None)


_STORED = _proxy("StoredMemoryOrMessages", StoredMemoryOutput, MessageMemoriesOutput)
_CHANGE = {"Another confidence": {"confidence": 0.4}}


class MemoryEndpointBase(Endpoint):
    """The base of the endpoints of memories."""

    scopes = WRITE

    def _memory(self, memory_id: UUID, *, is_live: bool = True) -> Memory:
        """Return the memory within the key's reach. Raises `NotFound`; `is_live=False` also accepts an archived one."""
        reach = self.key.partition_prefix
        rows = Memory.objects.for_tenant(self.tenant_id).within(reach).with_answer_parts(reach)
        memory = find_row(rows.with_id(memory_id), Memory)
        if is_live and memory.archived_at is not None:
            raise NotFound("archived", "The memory is archived. POST to its /restore endpoint to restore it.")
        return memory

    def _store(self, rows: Sequence[NewMemory]) -> list[StoreResult]:
        ahead = self._ahead(rows)
        results = write_in_tenant_scope(self.tenant_id, partial(self._stored, rows, ahead))
        self._index(results)
        return results

    def _ahead(self, rows: Sequence[NewMemory]) -> VectorsAhead | None:
        texts = (normalise_content(row.content) for row in rows)
        return embed_ahead(self.tenant_id, texts, self.key.tenant.settings_revision)

    def _stored(self, rows: Sequence[NewMemory], ahead: VectorsAhead | None) -> list[StoreResult]:
        return store_memories(
            tenant=self.key.tenant,
            rows=rows,
            ahead=ahead,
            refuses_recalled_text=self.key.refuses_recalled_text,
            reach=self.key.partition_prefix,
            by=self.actor,
            now=self.now,
        )

    def _index(self, results: Sequence[StoreResult]) -> None:
        """Embed memories that are still pending; call it with no scope open."""
        stored = {row.memory for row in results if row.memory is not None and row.status != StoreStatus.EXISTING}
        index_now(self.tenant_id, [row.pk for row in stored if row.embedding_state == Memory.EmbeddingState.PENDING])

    def _act(self, action: Callable[..., Memory], memory_id: UUID, *, is_live: bool = False) -> None:
        """Call an action on the memory, if `If-Match` allows its version; embed a new text."""

        def write() -> Memory:
            memory = self._memory(memory_id, is_live=is_live)
            if_version = if_match_version(self.request, memory.version)
            return action(memory=memory, if_version=if_version, by=self.actor, now=self.now)

        memory = write_in_tenant_scope(self.tenant_id, write)
        if memory.archived_at is None and memory.embedding_state == Memory.EmbeddingState.PENDING:
            index_now(self.tenant_id, [memory.pk])

    def _answer(self, memory_id: UUID, status_code: int = 200, **more: Any) -> Response:
        with tenant_scope(self.tenant_id):
            answer = MemoryOutput(self._memory(memory_id, is_live=False)).data
        return self._response(answer, status_code, **more)

    def _response(self, answer: Mapping[str, Any], status_code: int = 200, **more: Any) -> Response:
        return Response({**answer, **more}, status=status_code, headers={"ETag": memory_etag(answer)})


class MemoryListEndpoint(MemoryEndpointBase):
    """Store one memory; list memories."""

    body_bytes_max = LARGE_BODY_BYTES

    @operation(
        "memories_create",
        {201: _STORED, 200: _STORED},
        request=_proxy("NewMemoryOrMessages", MemoryInput, MemoryMessagesInput),
        examples=_NEW_MEMORY | _MESSAGES,
        parameters=[IF_MATCH, ONLY_NEW],
    )
    @idempotent_in_steps
    def post(self, request: Request) -> Response:
        """Store a memory, or return the live one that already has this text.

        With the `source_id` of a live memory of the partition and another text, that memory gets the text and the given
        fields as a new version: 200 with the status `updated`. `If-Match` requires this memory in the named version.
        With `messages`, each message of a user or an assistant becomes a memory, its speaker before the text.
        Instructions and tool outputs are skipped (`role`), and messages without text (`empty`).
        """
        if isinstance(request.data, Mapping) and "messages" in request.data:
            if "content" in request.data:
                raise InvalidInput("one_of", "Send either content or messages.", "content")
            return self._post_messages()
        values = self.body(MemoryInput)
        row = build_new_memory(values, writable_partition(self.key, requested_partition(values)), request.data)
        row = replace(row, if_versions=upserted_versions(request))
        if "If-Match" in request.headers and not row.source_id:
            raise stale()
        ahead = self._ahead([row])

        def write() -> tuple[StoreResult, Memory, Any]:
            (result,) = self._stored([row], ahead)
            if result.memory is None:
                raise stale(result.stale_field) if result.stale_field else invalid(result.problems)
            answer: Mapping[str, Any] | None = answer_of_new_memory(row, result, ahead)
            # a pending one may be embedded before it is read
            if answer is None and result.memory.embedding_state == Memory.EmbeddingState.READY:
                answer = MemoryOutput(self._memory(result.memory.pk, is_live=False)).data
            return result, result.memory, answer

        result, memory, answer = write_in_tenant_scope(self.tenant_id, write)
        is_new = result.status == StoreStatus.CREATED
        more: dict[str, Any] = {"status_code": 201 if is_new else 200, "status": result.status, "reason": result.reason}
        if answer is None:
            self._index([result])
        response = self._answer(memory.pk, **more) if answer is None else self._response(answer, **more)
        if is_new:
            response["Location"] = request.build_absolute_uri(f"{request.path_info}/{memory.pk}")
        return response

    def _post_messages(self) -> Response:
        refuse_conditions(self.request, instead="Send the if_version of each message.")
        values = self.body(MemoryMessagesInput)
        partition = writable_partition(self.key, requested_partition(values))
        rows = list(message_memories(values, partition))
        stored = iter(self._store([row for row in rows if not isinstance(row, str)]))
        results = [
            _result(index, "skipped", reason=row) if isinstance(row, str) else _result_values(index, next(stored))
            for index, row in enumerate(rows)
        ]
        is_any_new = any(result["status"] == StoreStatus.CREATED for result in results)
        code = status.HTTP_201_CREATED if is_any_new else status.HTTP_200_OK
        return Response(MessageMemoriesOutput({"results": results}).data, status=code)

    @list_operation("memories_list", MemoryOutput, query=MemoryListInput)
    def get(self, request: Request) -> Response:
        """List the memories that match: live ones, archived ones, or those that were true `as_of` a time."""
        values = self.query(MemoryListInput)
        partition = readable_partition(self.key, values["partition"])
        ordering = values["ordering"]
        column = ordering.removeprefix("-").replace("updated_at", "recorded_from")
        with tenant_scope(self.tenant_id):
            if "as_of" not in values:
                rows = Memory.objects.for_tenant(self.tenant_id)
                rows = rows.archived() if values["archived"] else rows.live(self.now)
                rows = rows.within(partition.path, exact=values["exact"]).with_segments(requested_segments(values))
                rows = _matching(rows, values).with_answer_parts(self.key.partition_prefix)
                return self.listing(rows, values, MemoryOutput, ordering=ordering, column=column)
            moment = PointInTime.valid(values["as_of"])
            scope = SearchScope(self.tenant_id, partition.path, moment, values["exact"], requested_segments(values))
            sources = [_matching(rows, values) for rows in scope.sources()]
            by = f"-{column}" if ordering.startswith("-") else column

            def rows_from(position: CursorPosition | None, count: int) -> list[Memory]:
                near = {"ordering": by, "count": count, **position_to_row(position)}
                return read_page_at(sources, moment, self.tenant_id, reach=self.key.partition_prefix, **near)

            kinds = (Memory.objects.for_tenant(self.tenant_id).kind_of(column), UUID)
            reading = {"rows_from": rows_from, "place_of": attrgetter(column, "pk")}
            answer = MemoryOutput().to_representation
            return self.page_response(values, ordering=ordering, kinds=kinds, answer=answer, **reading)


def _result_values(index: int, result: StoreResult) -> dict[str, Any]:
    memory_id = result.memory.pk if result.memory else None
    return _result(index, result.status, reason=result.reason, memory_id=memory_id, errors=result.problems)


def _result(
    index: int, status: str, *, reason: str = "", memory_id: UUID | None = None, errors: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the values of a result of a row or a message."""
    return {"index": index, "status": status, "reason": reason, "id": memory_id, "errors": errors}


def _matching(rows: Rows, values: Mapping[str, Any]) -> Rows:
    """Return the rows that match the query parameters."""
    rows = rows.created_between(values.get("created_after"), values.get("created_before"))
    rows = rows.of_kind(values["kind"]) if "kind" in values else rows
    rows = rows.pinned(values["pinned"]) if "pinned" in values else rows
    return rows.matching(values["q"]) if "q" in values else rows


class MemoryBulkEndpoint(MemoryEndpointBase):
    """Store up to 1,000 memories."""

    body_bytes_max = LARGE_BODY_BYTES

    @operation("memories_bulk", {200: MemoryBulkOutput}, request=MemoryBulkInputSchema, examples=_BULK)
    @idempotent_in_steps
    def post(self, request: Request) -> Response:
        """Store the valid rows and report the errors of the others; each row is stored as by `POST memories`."""
        rows = CheckedRows(ConditionalMemoryInput, partial(writable_partition, self.key), key=self.key, now=self.now)
        for index, row in enumerate(self.body(MemoryBulkInput)["memories"]):
            rows.add(index, row)
        stored = map(_result_values, rows.valid, self._store(list(rows.valid.values())))
        results = [*stored, *(_result(index, "invalid", errors=faults) for index, faults in rows.faults.items())]
        return Response(MemoryBulkOutput({"results": sorted(results, key=itemgetter("index"))}).data)


class MemoryEndpoint(MemoryEndpointBase):
    """Read, change or archive a memory."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("memories_read", {200: MemoryOutput, 304: None}, 404)
    def get(self, request: Request, memory_id: UUID) -> Response:
        """The memory as it is now."""
        return self.answer_with_etag(lambda: MemoryOutput(self._memory(memory_id)).data)

    @operation(
        "memories_change", {200: MemoryOutput}, 404, 409, request=MemoryChanges, examples=_CHANGE, parameters=[IF_MATCH]
    )
    def patch(self, request: Request, memory_id: UUID) -> Response:
        """Change some fields; opens a new version.

        409 `duplicate` or `source_taken`: another live memory of the partition has this text or this `source_id`.
        """
        changes = self.body(MemoryChanges)
        target = requested_partition(changes)
        changes = {name: value for name, value in changes.items() if name not in {"partition", *SHORTHAND}}
        if target is not None:
            changes["partition"] = writable_partition(self.key, target)
        self._act(partial(update_memory, changes=changes), memory_id, is_live=True)
        return self._answer(memory_id)

    @operation("memories_archive", {204: None}, 404, parameters=[IF_MATCH])
    def delete(self, request: Request, memory_id: UUID) -> Response:
        """Archive the memory; it can be restored. Archiving it again has no effect."""
        self.query(EmptyInput)
        self._act(archive_memory, memory_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class MemoryRestoreEndpoint(MemoryEndpointBase):
    """Restore an archived memory."""

    @operation("memories_restore", {200: MemoryOutput}, 404, 409, parameters=[IF_MATCH])
    def post(self, request: Request, memory_id: UUID) -> Response:
        """Make the memory live again as a new version; a live one stays as it is.

        409 `duplicate` or `source_taken`: a live memory of the partition has its text or its `source_id` by now.
        409 `live_summary`: it is a summary of a session that has another live one, which `detail` names.
        """
        self.body(EmptyInput)
        self._act(restore_memory, memory_id)
        return self._answer(memory_id)


class MemoryHistoryEndpoint(MemoryEndpointBase):
    """All versions of a memory."""

    @list_operation("memories_history", MemoryVersionOutput, 404)
    def get(self, request: Request, memory_id: UUID) -> Response:
        """Every version with its valid and its recorded interval, newest first; including those of an archived memory.

        Versions of a time when the memory was in a partition that the key does not reach are excluded.
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

        return self.page_response(
            values,
            ordering="-version",
            kinds=(int, int),
            rows_from=rows_from,
            place_of=lambda row: (row.version, row.version),
            answer=MemoryVersionOutput().to_representation,
        )
