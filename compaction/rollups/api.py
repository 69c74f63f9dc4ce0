"""The endpoint that regenerates a partition's summary."""

from typing import Any

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.rollups.actions import request_roll_up
from memories.models import Partition
from memories.partitions.serializers import PartitionAddress, SummaryStyleInput
from memories.services.partitions.paths import PartitionPath
from memories.store.api.schema import PARTITION_PATH, operation
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_reach
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope


class RollUpOutput(serializers.Serializer[Any]):
    """A requested roll-up."""

    event_id = serializers.UUIDField(source="pk", help_text="`GET events/{id}` reports its progress.")


class RollUpEndpoint(Endpoint):
    """Roll-ups of one partition."""

    scopes = {"POST": "write"}

    @operation(
        "partitions_roll_up",
        {202: RollUpOutput},
        404,
        request=SummaryStyleInput,
        examples={"A compact summary": {"style": "compact"}},
        parameters=[PARTITION_PATH],
    )
    @idempotent
    def post(self, request: Request, place: str) -> Response:
        """Regenerate the summary in one style from the partition's memories and the summaries below it."""
        values: dict[str, Any] = self.body(SummaryStyleInput)
        named: PartitionPath = self.checked(PartitionAddress, {"partition": place}, {})["partition"]
        require_reach(self.key, named.path)
        with tenant_scope(self.tenant_id):
            partition = find_row(Partition.objects.for_tenant(self.tenant_id).at([named.path]), Partition)
            run = request_roll_up(partition=partition, style=values["style"], by=self.actor, now=self.now)
        return Response(RollUpOutput(run).data, status=status.HTTP_202_ACCEPTED)
