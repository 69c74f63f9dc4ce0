"""Endpoints of events: the jobs of compaction."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Run
from compaction.pipeline.actions.compactions import retry_compaction_run
from compaction.pipeline.serializers.compactions import EventOutput
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput


class EventEndpointBase(Endpoint):
    """Shared by the endpoints of events."""

    scopes = {"POST": "write"}

    def run_within(self, event_id: UUID) -> Run:
        """Return a run within the key's reach; inside a scope. Raises `NotFound`."""
        rows = Run.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).with_targets()
        found: Run | None = rows.with_id(event_id).first()
        if found is None:
            raise NotFound("not_found", "There is no such event.")
        return found


class EventEndpoint(EventEndpointBase):
    """One event."""

    @extend_schema(operation_id="events_read", tags=["compaction"], responses=response_schemas({200: EventOutput}, 404))
    def get(self, request: Request, event_id: UUID) -> Response:
        """The progress of a job, and why it failed if it did."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            return Response(EventOutput(self.run_within(event_id)).data)


class EventRetryEndpoint(EventEndpointBase):
    """Retry an event."""

    @extend_schema(
        operation_id="events_retry",
        tags=["compaction"],
        request=None,
        parameters=[IDEMPOTENCY_KEY],
        responses=response_schemas({202: EventOutput}, 404, 409),
    )
    @idempotent
    def post(self, request: Request, event_id: UUID) -> Response:
        """Retry a failed job."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            retry_compaction_run(run=self.run_within(event_id), by=self.actor, now=self.now)
            answer = EventOutput(self.run_within(event_id)).data
        return Response(answer, status=status.HTTP_202_ACCEPTED)
