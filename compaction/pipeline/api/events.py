"""Endpoints of background work."""

from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Run
from compaction.pipeline.actions.compactions import retry_compaction_run
from compaction.pipeline.api.compactions_schema import event_retry_schema, event_schema
from compaction.pipeline.serializers.compactions import serialize_event
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput


class EventEndpointBase(Endpoint):
    """What the endpoints of events share."""

    scopes = {"POST": "write"}

    def run_within(self, event_id: UUID) -> Run:
        """A run of what lies within the key's reach; inside a scope."""
        rows = Run.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).with_targets()
        found: Run | None = rows.with_id(event_id).first()
        if found is None:
            raise NotFound("not_found", "There is no such event.")
        return found


class EventEndpoint(EventEndpointBase):
    """One event."""

    @event_schema
    def get(self, request: Request, event_id: UUID) -> Response:
        """How far the work is, and why it failed where it did."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            return Response(serialize_event(self.run_within(event_id)))


class EventRetryEndpoint(EventEndpointBase):
    """Another attempt."""

    @event_retry_schema
    @idempotent
    def post(self, request: Request, event_id: UUID) -> Response:
        """Have failed work done again."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            retry_compaction_run(run=self.run_within(event_id), by=self.actor, now=self.now)
            answer = serialize_event(self.run_within(event_id))
        return Response(answer, status=status.HTTP_202_ACCEPTED)
