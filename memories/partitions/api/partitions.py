"""Endpoints of partitions, their summaries, the memo, and links between memories that the key can reach."""

from operator import attrgetter
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Memory, MemoryLink, Partition, PartitionSummary, TenantMemo
from memories.partitions import actions, serializers
from memories.partitions.queries.partitions import MemoryLinkQuerySet
from memories.services.partitions.paths import PartitionPath
from memories.store.api.schema import IF_MATCH, PARTITION_PATH, list_operation, operation
from memories.store.serializers.answers import memory_etag
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional, if_match_version
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_reach, require_whole_tenant, writable_partition
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition
from memory_platform.rest.cursor_pagination import CursorPosition
from memory_platform.rest.serializers import EmptyInput

_PARTITION = {"A topic of Alex": {"partition": "user=alex/topic=meetings"}}
_SUMMARY = {
    "A compact summary": {"content": "Alex meets before noon, mostly about the move to Lisbon.", "style": "compact"}
}
_MEMO = {"Who is helped": {"content": "You help the sales team of Acme."}}
_LINK = {
    "The reason for a decision": {
        "source_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11",
        "target_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20",
        "kind": "because",
    }
}


class PartitionListEndpoint(Endpoint):
    """Create a partition; list partitions."""

    scopes = {"POST": "write"}

    @list_operation("partitions_list", serializers.PartitionOutput, query=serializers.PartitionListInput)
    def get(self, request: Request) -> Response:
        """The partitions within the key's reach, in the order of their paths, the root included."""
        values = self.query(serializers.PartitionListInput)
        partition = readable_partition(self.key, values["partition"])

        def rows_from(place: CursorPosition | None, count: int) -> list[Partition]:
            rows = Partition.objects.for_tenant(self.tenant_id).within(partition.path).with_contents(self.now)
            if place is None:
                return list(rows.page_by_path(count=count))
            return list(rows.page_by_path(place.number, is_backward=place.is_backward, count=count))

        answer = serializers.PartitionOutput().to_representation
        reading = {"rows_from": rows_from, "place_of": attrgetter("pk", "pk"), "answer": answer}
        return self.page_response(values, ordering="path", kinds=(int, int), **reading)

    @operation(
        "partitions_create",
        {201: serializers.PartitionOutput, 200: serializers.PartitionOutput},
        request=serializers.PartitionInput,
        examples=_PARTITION,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a partition and those above it; storing a memory does this too."""
        partition = writable_partition(self.key, requested_partition(self.body(serializers.PartitionInput)))
        with tenant_scope(self.tenant_id):
            created, is_new = actions.create_partition(partition=partition, **self.action_arguments)
            rows = Partition.objects.for_tenant(self.tenant_id).at([created.path])
            answer = serializers.PartitionOutput(rows.with_contents(self.now)[0]).data
        return Response(answer, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


class PartitionSummaryEndpoint(Endpoint):
    """Read, set or withdraw the summaries of a partition."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = {"PUT": "write", "DELETE": "write"}

    @list_operation(
        "summaries_list",
        serializers.PartitionSummaryOutput,
        404,
        query=serializers.SummaryListInput,
        parameters=[PARTITION_PATH],
    )
    def get(self, request: Request, place: str) -> Response:
        """The current summary of each style; with `versions=true` the superseded ones too."""
        values = self.query(serializers.SummaryListInput)
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            self._require(partition)
        rows = PartitionSummary.objects.for_tenant(self.tenant_id).of_partition(partition.path)
        rows = rows if values["versions"] else rows.current()
        rows = rows.of_style(values["style"]) if "style" in values else rows
        return self.listing(rows, values, serializers.PartitionSummaryOutput, ordering="-recorded_from")

    @operation(
        "summaries_set",
        {200: serializers.PartitionSummaryOutput, 201: serializers.PartitionSummaryOutput},
        request=serializers.SummaryInput,
        examples=_SUMMARY,
        parameters=[PARTITION_PATH, IF_MATCH],
    )
    def put(self, request: Request, place: str) -> Response:
        """Make a text the active summary in one style; the same text adds no version."""
        values = self.body(serializers.SummaryInput)
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            current = self._current(partition, values["style"])
            if_version = if_match_version(request, current.version if current else 0)
            values |= {"origin": PartitionSummary.Origin.AGENT, "if_version": if_version}
            saved = actions.save_summary(partition=partition, **values, **self.action_arguments)
            answer = serializers.PartitionSummaryOutput(saved).data
        code = status.HTTP_200_OK if current else status.HTTP_201_CREATED
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

    @operation(
        "summaries_withdraw", {204: None}, 404, parameters=[PARTITION_PATH, serializers.SummaryStyleInput, IF_MATCH]
    )
    def delete(self, request: Request, place: str) -> Response:
        """Withdraw the summary in one style from contexts; its versions stay. Withdrawing it again has no effect."""
        style = self.query(serializers.SummaryStyleInput)["style"]
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            self._require(partition)
            current = self._current(partition, style)
            if_match_version(request, current.version if current else 0)
            if current is not None:
                actions.withdraw_summary(summary=current, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _partition(self, place: str) -> PartitionPath:
        """Return the partition in the URL. Raises `Forbidden` if the key cannot reach it."""
        partition: PartitionPath = self.checked(serializers.PartitionAddress, {"partition": place}, {})["partition"]
        require_reach(self.key, partition.path)
        return partition

    def _require(self, partition: PartitionPath) -> None:
        find_row(Partition.objects.for_tenant(self.tenant_id).at([partition.path]), Partition)

    def _current(self, partition: PartitionPath, style: str) -> PartitionSummary | None:
        rows = PartitionSummary.objects.for_tenant(self.tenant_id).current()
        return rows.of_partition(partition.path).of_style(style).first()


class TenantMemoEndpoint(Endpoint):
    """Read or set the tenant's memo."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = {"PUT": "admin"}

    @operation("memo_read", {200: serializers.TenantMemoOutput, 304: None})
    def get(self, request: Request) -> Response:
        """The text that can be placed at the beginning of every context."""
        return self.answer_with_etag(lambda: serializers.TenantMemoOutput(self._current() or serializers.NO_MEMO).data)

    @operation(
        "memo_set",
        {200: serializers.TenantMemoOutput},
        request=serializers.MemoInput,
        examples=_MEMO,
        parameters=[IF_MATCH],
    )
    def put(self, request: Request) -> Response:
        """Make a text the active memo; the same text adds no version."""
        require_whole_tenant(self.key)
        values = self.body(serializers.MemoInput)
        with tenant_scope(self.tenant_id):
            current = self._current()
            if_version = if_match_version(request, current.version if current else 0)
            memo = actions.set_tenant_memo(**values, if_version=if_version, **self.action_arguments)
            answer = serializers.TenantMemoOutput(memo).data
        return Response(answer, headers={"ETag": memory_etag(answer)})

    def _current(self) -> TenantMemo | None:
        return TenantMemo.objects.for_tenant(self.tenant_id).current().first()


class LinkEndpointBase(Endpoint):
    """The base of the endpoints of links."""

    scopes = {"POST": "write", "DELETE": "write"}

    def _rows(self) -> MemoryLinkQuerySet:
        rows: MemoryLinkQuerySet = MemoryLink.objects.for_tenant(self.tenant_id)
        return rows.within(self.key.partition_prefix)


class LinkListEndpoint(LinkEndpointBase):
    """Create a link; list links."""

    @list_operation("links_list", serializers.LinkOutput, query=serializers.LinkListInput)
    def get(self, request: Request) -> Response:
        """Current links, newest first, optionally from or to one memory or of one kind."""
        values = self.query(serializers.LinkListInput)
        rows = self._rows().current()
        rows = rows.from_memory(values["source_id"]) if "source_id" in values else rows
        rows = rows.to_memory(values["target_id"]) if "target_id" in values else rows
        rows = rows.of_kind(values["kind"]) if "kind" in values else rows
        return self.listing(rows, values, serializers.LinkOutput, ordering="-recorded_from")

    @operation(
        "links_create",
        {201: serializers.LinkOutput, 200: serializers.LinkOutput},
        404,
        request=serializers.NewLinkInput,
        examples=_LINK,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Link two memories; an existing link stays as it is. Links may form cycles."""
        values = self.body(serializers.NewLinkInput)
        with tenant_scope(self.tenant_id):
            source, target = (self._end(field, values[field]) for field in ("source_id", "target_id"))
            kind = values["kind"]
            link = actions.link_memories(source=source, target=target, kind=kind, by=self.actor, now=self.now)
        code = status.HTTP_201_CREATED if link.recorded_from == self.now else status.HTTP_200_OK
        return Response(serializers.LinkOutput(link).data, status=code)

    def _end(self, field: str, memory_id: UUID) -> Memory:
        rows = Memory.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).unarchived()
        return find_row(rows.with_id(memory_id), Memory, field=field)


class LinkEndpoint(LinkEndpointBase):
    """Read or end a link."""

    output = serializers.LinkOutput

    def edited_row(self, link_id: int) -> MemoryLink:
        """Return the link, also an ended one; inside a scope."""
        return find_row(self._rows().with_id(link_id), MemoryLink, "link")

    @operation("links_read", {200: serializers.LinkOutput, 304: None}, 404)
    def get(self, request: Request, link_id: int) -> Response:
        """The link, also an ended one."""
        return self.answer_with_etag(lambda: self.shown(link_id))

    @operation("links_end", {204: None}, 404)
    @conditional
    def delete(self, request: Request, link_id: int) -> Response:
        """End the link; it stays in history. Ending it again has no effect."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            actions.unlink_memories(link=self.edited_row(link_id), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
