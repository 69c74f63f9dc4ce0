"""Endpoints of partitions, their summaries and the memo."""

from datetime import datetime

from drf_spectacular.utils import OpenApiExample
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Partition, PartitionSummary, TenantMemo
from memories.partitions.actions import create_partition, save_summary, set_tenant_memo, withdraw_summary
from memories.partitions.serializers import (
    NO_MEMO,
    MemoInput,
    PartitionAddress,
    PartitionInput,
    PartitionListInput,
    PartitionOutput,
    PartitionSummaryOutput,
    SummaryInput,
    SummaryListInput,
    SummaryStyleInput,
    TenantMemoOutput,
)
from memories.services.partitions.paths import PartitionPath
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, PARTITION_PATH, operation
from memories.store.serializers.answers import memory_etag
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, response_with_etag
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_reach, require_whole_tenant, writable_partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition
from memory_platform.rest.pages import CursorPosition, page_of
from memory_platform.rest.serializers import EmptyInput

_PARTITION = OpenApiExample("A topic of Alex", {"partition": "user=alex/topic=meetings"}, request_only=True)
_SUMMARY = OpenApiExample(
    "In short",
    {"content": "Alex meets before noon, mostly about the move to Lisbon.", "style": "compact"},
    request_only=True,
)
_MEMO = OpenApiExample("Who is helped", {"content": "You help the sales team of Acme."}, request_only=True)


class PartitionListEndpoint(Endpoint):
    """The tree of partitions."""

    scopes = {"POST": "write"}

    @operation("partitions_list", {200: page_of(PartitionOutput)}, parameters=[PartitionListInput])
    def get(self, request: Request) -> Response:
        """The partitions within the key's reach, in the order of their paths, the root included."""
        values = self.query(PartitionListInput)
        partition = readable_partition(self.key, values["partition"])

        def rows_from(place: CursorPosition | None, count: int) -> list[Partition]:
            rows = Partition.objects.for_tenant(self.tenant_id).within(partition.path).with_contents(self.now)
            if place is None:
                return list(rows.page_by_path(count=count))
            return list(rows.page_by_path(place.number, is_backward=place.is_backward, count=count))

        return self.page_response(
            values,
            ordering="path",
            kinds=(int, int),
            rows_from=rows_from,
            place_of=lambda row: (row.pk, row.pk),
            answer=PartitionOutput().to_representation,
        )

    @operation(
        "partitions_create",
        {201: PartitionOutput, 200: PartitionOutput},
        *(409, 413),
        request=PartitionInput,
        examples=[_PARTITION],
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a partition and those above it; storing a memory does this too."""
        partition = writable_partition(self.key, requested_partition(self.body(PartitionInput)))
        with tenant_scope(self.tenant_id):
            created, is_new = create_partition(tenant=self.key.tenant, partition=partition, by=self.actor, now=self.now)
            rows = Partition.objects.for_tenant(self.tenant_id).at([created.path])
            answer = PartitionOutput(rows.with_contents(self.now)[0]).data
        return Response(answer, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


class PartitionSummaryEndpoint(Endpoint):
    """The summaries of one partition."""

    scopes = {"PUT": "write", "DELETE": "write"}

    @operation(
        "summaries_list",
        {200: page_of(PartitionSummaryOutput)},
        404,
        tag="partitions",
        parameters=[PARTITION_PATH, SummaryListInput],
    )
    def get(self, request: Request, place: str) -> Response:
        """The current summary of each style; with `versions=true` the superseded ones too."""
        values = self.query(SummaryListInput)
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            self._require(partition)
        rows = PartitionSummary.objects.for_tenant(self.tenant_id).of_partition(partition.path)
        rows = rows if values["versions"] else rows.current()
        rows = rows.of_style(values["style"]) if "style" in values else rows
        answer = PartitionSummaryOutput().to_representation
        return self.listing(rows, values, ordering="-recorded_from", kinds=(datetime, int), answer=answer)

    @operation(
        "summaries_set",
        {200: PartitionSummaryOutput, 201: PartitionSummaryOutput},
        *(412, 413),
        tag="partitions",
        request=SummaryInput,
        examples=[_SUMMARY],
        parameters=[PARTITION_PATH, IF_MATCH],
    )
    def put(self, request: Request, place: str) -> Response:
        """Make a text the active summary in one style; the same text adds no version."""
        values = self.body(SummaryInput)
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            current = self._current(partition, values["style"])
            if_version = if_match_version(request, current.version if current else 0)
            saved = save_summary(
                tenant=self.key.tenant,
                partition=partition,
                **values,
                origin=PartitionSummary.Origin.AGENT,
                if_version=if_version,
                by=self.actor,
                now=self.now,
            )
            answer = PartitionSummaryOutput(saved).data
        code = status.HTTP_200_OK if current else status.HTTP_201_CREATED
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

    @operation(
        "summaries_withdraw",
        {204: None},
        *(404, 412),
        tag="partitions",
        parameters=[PARTITION_PATH, SummaryStyleInput, IF_MATCH],
    )
    def delete(self, request: Request, place: str) -> Response:
        """Withdraw the summary in one style from contexts; its versions stay. Withdrawing twice is no error."""
        style = self.query(SummaryStyleInput)["style"]
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            self._require(partition)
            current = self._current(partition, style)
            if_match_version(request, current.version if current else 0)
            if current is not None:
                withdraw_summary(summary=current, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _partition(self, place: str) -> PartitionPath:
        """Return the partition in the URL. Raises `Forbidden` outside of the key's reach."""
        partition: PartitionPath = self.checked(PartitionAddress, {"partition": place}, {})["partition"]
        require_reach(self.key, partition.path)
        return partition

    def _require(self, partition: PartitionPath) -> None:
        self.found(Partition.objects.for_tenant(self.tenant_id).at([partition.path]), "partition")

    def _current(self, partition: PartitionPath, style: str) -> PartitionSummary | None:
        rows = PartitionSummary.objects.for_tenant(self.tenant_id).current()
        row: PartitionSummary | None = rows.of_partition(partition.path).of_style(style).first()
        return row


class TenantMemoEndpoint(Endpoint):
    """The tenant's memo."""

    scopes = {"PUT": "admin"}

    @operation("memo_read", {200: TenantMemoOutput, 304: None}, parameters=[IF_NONE_MATCH])
    def get(self, request: Request) -> Response:
        """The text that may lead every context."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = TenantMemoOutput(self._current() or NO_MEMO).data
        return response_with_etag(request, answer)

    @operation(
        "memo_set", {200: TenantMemoOutput}, 412, 413, request=MemoInput, examples=[_MEMO], parameters=[IF_MATCH]
    )
    def put(self, request: Request) -> Response:
        """Make a text the active memo; the same text adds no version."""
        require_whole_tenant(self.key)
        values = self.body(MemoInput)
        with tenant_scope(self.tenant_id):
            current = self._current()
            if_version = if_match_version(request, current.version if current else 0)
            memo = set_tenant_memo(
                tenant=self.key.tenant, content=values["content"], if_version=if_version, by=self.actor, now=self.now
            )
            answer = TenantMemoOutput(memo).data
        return Response(answer, headers={"ETag": memory_etag(answer)})

    def _current(self) -> TenantMemo | None:
        row: TenantMemo | None = TenantMemo.objects.for_tenant(self.tenant_id).current().first()
        return row
