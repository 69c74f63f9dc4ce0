"""Endpoints of links between memories; both ends are within the key's reach."""

from datetime import datetime
from uuid import UUID

from drf_spectacular.utils import OpenApiExample
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Memory, MemoryLink
from memories.partitions.actions import link_memories, unlink_memories
from memories.partitions.queries.partitions import MemoryLinkQuerySet
from memories.partitions.serializers import LinkListInput, LinkOutput, NewLinkInput
from memories.store.api.schema import IDEMPOTENCY_KEY, operation
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import page_of
from memory_platform.rest.serializers import EmptyInput

_LINK = OpenApiExample(
    "The reason for a decision",
    {
        "source_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11",
        "target_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20",
        "kind": "because",
    },
    request_only=True,
)


class LinkEndpointBase(Endpoint):
    """The base of the endpoints of links."""

    scopes = {"POST": "write", "DELETE": "write"}

    def _rows(self) -> MemoryLinkQuerySet:
        rows: MemoryLinkQuerySet = MemoryLink.objects.for_tenant(self.tenant_id)
        return rows.within(self.key.partition_prefix)


class LinkListEndpoint(LinkEndpointBase):
    """Create a link; list links."""

    @operation("links_list", {200: page_of(LinkOutput)}, parameters=[LinkListInput])
    def get(self, request: Request) -> Response:
        """Current links, newest first, optionally from or to one memory or of one kind."""
        values = self.query(LinkListInput)
        rows = self._rows().current()
        rows = rows.from_memory(values["source_id"]) if "source_id" in values else rows
        rows = rows.to_memory(values["target_id"]) if "target_id" in values else rows
        rows = rows.of_kind(values["kind"]) if "kind" in values else rows
        answer = LinkOutput().to_representation
        return self.listing(rows, values, ordering="-recorded_from", kinds=(datetime, int), answer=answer)

    @operation(
        "links_create",
        {201: LinkOutput, 200: LinkOutput},
        *(404, 409, 413),
        request=NewLinkInput,
        examples=[_LINK],
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Link two memories; an existing link stays as it is. Links may form cycles."""
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
        return Response(LinkOutput(link).data, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)

    def _end(self, field: str, memory_id: UUID) -> Memory:
        rows = Memory.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).unarchived()
        memory: Memory = self.found(rows.with_id(memory_id), "memory", field)
        return memory


class LinkEndpoint(LinkEndpointBase):
    """One link."""

    @operation("links_end", {204: None}, 404)
    def delete(self, request: Request, link_id: int) -> Response:
        """End the link; it stays in history. Ending it twice is no error."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            unlink_memories(link=self.found(self._rows().with_id(link_id), "link"), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
