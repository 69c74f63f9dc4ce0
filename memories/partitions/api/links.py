"""Endpoints of edges between memories; both ends are within the key's reach."""

from datetime import datetime
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Memory, MemoryLink
from memories.partitions.actions.links import link_memories, unlink_memories
from memories.partitions.api.links_schema import link_create_schema, link_delete_schema, links_schema
from memories.partitions.queries.records import MemoryLinkQuerySet
from memories.partitions.serializers.links import LinkListInput, NewLinkInput, serialize_link
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput


class LinkEndpointBase(Endpoint):
    """What the endpoints of edges share."""

    scopes = {"POST": "write", "DELETE": "write"}

    def _rows(self) -> MemoryLinkQuerySet:
        rows: MemoryLinkQuerySet = MemoryLink.objects.for_tenant(self.tenant_id)
        return rows.within(self.key.partition_prefix)


class LinkListEndpoint(LinkEndpointBase):
    """Make an edge; list edges."""

    @links_schema
    def get(self, request: Request) -> Response:
        """Edges that hold now, newest first, optionally from or to one memory or of one kind."""
        values = self.query(LinkListInput)
        rows = self._rows().current()
        rows = rows.from_memory(values["source_id"]) if "source_id" in values else rows
        rows = rows.to_memory(values["target_id"]) if "target_id" in values else rows
        rows = rows.of_kind(values["kind"]) if "kind" in values else rows
        return self.listing(rows, values, ordering="-recorded_from", kinds=(datetime, int), answer=serialize_link)

    @link_create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Link two memories; an edge that is there already stays as it is. Edges may form circles."""
        values = self.body(NewLinkInput)
        with tenant_scope(self.tenant_id):
            link = link_memories(
                source=self._end("source_id", values["source_id"]),
                target=self._end("target_id", values["target_id"]),
                kind=values["kind"],
                by=self.actor,
                now=self.now,
            )
        is_new = link.recorded_from == self.now
        return Response(serialize_link(link), status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)

    def _end(self, field: str, memory_id: UUID) -> Memory:
        rows = Memory.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).unarchived()
        memory: Memory | None = rows.with_id(memory_id).first()
        if memory is None:
            raise NotFound("not_found", "There is no such memory.", field)
        return memory


class LinkEndpoint(LinkEndpointBase):
    """One edge."""

    @link_delete_schema
    def delete(self, request: Request, link_id: int) -> Response:
        """End the edge; it stays in history. Ending it twice is no error."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            link: MemoryLink | None = self._rows().numbered(link_id).first()
            if link is None:
                raise NotFound("not_found", "There is no such link.")
            unlink_memories(link=link, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
