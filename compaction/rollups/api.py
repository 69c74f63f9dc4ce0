"""The endpoint that regenerates a partition's summary."""

from typing import Any

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.rollups.actions import request_roll_up
from memories.models import Partition, PartitionSummary
from memories.partitions.serializers import PartitionAddress, SummaryStyleInput
from memories.services.partitions.paths import PartitionPath
from memories.store.api.schema import IF_MATCH, PARTITION_PATH, operation
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import has_condition, if_match_version
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
        parameters=[PARTITION_PATH, IF_MATCH],
    )
    @idempotent
    def post(self, request: Request, place: str) -> Response:
        """Regenerate the summary in one style from the partition's memories and the summaries below it.

        `If-Match` names the version of the active summary in this style, "0" if there is none.
        """
        values: dict[str, Any] = self.body(SummaryStyleInput)
        named: PartitionPath = self.checked(PartitionAddress, {"partition": place}, {})["partition"]
        require_reach(self.key, named.path)
        with tenant_scope(self.tenant_id):
            partition = find_row(Partition.objects.for_tenant(self.tenant_id).at([named.path]), Partition)
            if has_condition(request):
                rows = PartitionSummary.objects.for_tenant(self.tenant_id).current()
                current = rows.of_partition(named.path).of_style(values["style"]).first()
                if_match_version(request, current.version if current else 0)
            run = request_roll_up(partition=partition, style=values["style"], by=self.actor, now=self.now)
        return Response(RollUpOutput(run).data, status=status.HTTP_202_ACCEPTED)
