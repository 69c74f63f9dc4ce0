"""The endpoint that has a partition's summary made anew."""

from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.rollups.actions import request_roll_up
from compaction.rollups.api_schema import roll_up_schema
from memories.models import Partition
from memories.partitions.serializers.partitions import PartitionAddress, SummaryStyleInput
from memories.services.partitions.paths import PartitionPath
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_reach
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope


class RollUpEndpoint(Endpoint):
    """Roll-ups of one partition."""

    scopes = {"POST": "write"}

    @roll_up_schema
    @idempotent
    def post(self, request: Request, place: str) -> Response:
        """Have the summary in one style made from the partition's memories and the summaries below it."""
        values: dict[str, Any] = self.body(SummaryStyleInput)
        named: PartitionPath = self.checked(PartitionAddress, {"partition": place}, {})["partition"]
        require_reach(self.key, named.path)
        with tenant_scope(self.tenant_id):
            partition = Partition.objects.for_tenant(self.tenant_id).at([named.path]).first()
            if partition is None:
                raise NotFound("not_found", "There is no such partition.")
            run = request_roll_up(partition=partition, style=values["style"], by=self.actor, now=self.now)
        return Response({"event_id": str(run.pk)}, status=status.HTTP_202_ACCEPTED)
