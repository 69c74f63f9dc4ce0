"""Endpoints of partitions, their summaries and the memo."""

from datetime import datetime
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Partition, PartitionSummary, TenantMemo
from memories.partitions.actions.memo import set_tenant_memo
from memories.partitions.actions.partitions import create_partition
from memories.partitions.actions.summaries import save_summary, withdraw_summary
from memories.partitions.api.partitions_schema import (
    memo_read_schema,
    memo_set_schema,
    partition_create_schema,
    partitions_schema,
    summaries_schema,
    summary_delete_schema,
    summary_set_schema,
)
from memories.partitions.serializers.partitions import (
    MemoInput,
    PartitionAddress,
    PartitionInput,
    PartitionListInput,
    SummaryInput,
    SummaryListInput,
    SummaryStyleInput,
    serialize_memo,
    serialize_partition,
    serialize_summary,
)
from memories.services.partitions.paths import PartitionPath
from memories.store.serializers.answers import memory_etag
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, is_etag_current
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_reach, require_whole_tenant, writable_partition
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition
from memory_platform.rest.pages import CursorPosition, build_page
from memory_platform.rest.serializers import EmptyInput


class PartitionListEndpoint(Endpoint):
    """The tree of partitions."""

    scopes = {"POST": "write"}

    @partitions_schema
    def get(self, request: Request) -> Response:
        """The partitions within the key's reach, in the order of their paths, the root included."""
        values = self.query(PartitionListInput)
        partition = readable_partition(self.key, values["partition"])

        def rows_from(place: CursorPosition | None, count: int) -> list[Partition]:
            rows = Partition.objects.for_tenant(self.tenant_id).within(partition.path).with_contents(self.now)
            if place is None:
                return list(rows.page_by_path(count=count))
            return list(rows.page_by_path(place.number, is_backward=place.is_backward, count=count))

        with tenant_scope(self.tenant_id):
            page = build_page(
                request,
                values,
                ordering="path",
                kinds=(int, int),
                rows_from=rows_from,
                place_of=lambda row: (row.pk, row.pk),
                answer=serialize_partition,
            )
        return Response(page)

    @partition_create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a partition and those above it; storing a memory does it too."""
        partition = writable_partition(self.key, requested_partition(self.body(PartitionInput)))
        with tenant_scope(self.tenant_id):
            made, is_new = create_partition(tenant=self.key.tenant, partition=partition, by=self.actor, now=self.now)
            rows = Partition.objects.for_tenant(self.tenant_id).at([made.path])
            answer = serialize_partition(rows.with_contents(self.now)[0])
        return Response(answer, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


class PartitionSummaryEndpoint(Endpoint):
    """The summaries of one partition."""

    scopes = {"PUT": "write", "DELETE": "write"}

    @summaries_schema
    def get(self, request: Request, place: str) -> Response:
        """The current summary of each style; with `versions=true` the superseded ones too."""
        values = self.query(SummaryListInput)
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            self._require(partition)
        rows = PartitionSummary.objects.for_tenant(self.tenant_id).of_partition(partition.path)
        rows = rows if values["versions"] else rows.current()
        rows = rows.of_style(values["style"]) if "style" in values else rows
        return self.listing(
            rows,
            values,
            ordering="-recorded_from",
            kinds=(datetime, int),
            answer=lambda row: serialize_summary(row, partition.path),
        )

    @summary_set_schema
    def put(self, request: Request, place: str) -> Response:
        """Put a text into force as the summary in one style; the same text makes no version."""
        values = self.body(SummaryInput)
        partition = self._partition(place)
        with tenant_scope(self.tenant_id):
            current = self._current(partition, values["style"])
            if_version = if_match_version(request, current.version if current else 0)
            saved = save_summary(
                tenant=self.key.tenant,
                partition=partition,
                style=values["style"],
                content=values["content"],
                origin=PartitionSummary.Origin.AGENT,
                if_version=if_version,
                by=self.actor,
                now=self.now,
            )
            answer = serialize_summary(saved, partition.path)
        code = status.HTTP_200_OK if current else status.HTTP_201_CREATED
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

    @summary_delete_schema
    def delete(self, request: Request, place: str) -> Response:
        """Take the summary in one style out of contexts; its versions stay in history. Twice is no error."""
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
        """The partition that the address names, within the key's reach."""
        partition: PartitionPath = self.checked(PartitionAddress, {"partition": place}, {})["partition"]
        require_reach(self.key, partition.path)
        return partition

    def _require(self, partition: PartitionPath) -> None:
        if not Partition.objects.for_tenant(self.tenant_id).at([partition.path]):
            raise NotFound("not_found", "There is no such partition.")

    def _current(self, partition: PartitionPath, style: str) -> PartitionSummary | None:
        rows = PartitionSummary.objects.for_tenant(self.tenant_id).current()
        row: PartitionSummary | None = rows.of_partition(partition.path).of_style(style).first()
        return row


class TenantMemoEndpoint(Endpoint):
    """The tenant's memo."""

    scopes = {"PUT": "admin"}

    @memo_read_schema
    def get(self, request: Request) -> Response:
        """The text that may lead every context."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = serialize_memo(self._current())
        etag = memory_etag(answer)
        if is_etag_current(request, etag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    @memo_set_schema
    def put(self, request: Request) -> Response:
        """Put a text into force as the memo; the same text makes no version."""
        require_whole_tenant(self.key)
        values: dict[str, Any] = self.body(MemoInput)
        with tenant_scope(self.tenant_id):
            current = self._current()
            if_version = if_match_version(request, current.version if current else 0)
            answer = serialize_memo(
                set_tenant_memo(
                    tenant=self.key.tenant,
                    content=values["content"],
                    if_version=if_version,
                    by=self.actor,
                    now=self.now,
                )
            )
        return Response(answer, headers={"ETag": memory_etag(answer)})

    def _current(self) -> TenantMemo | None:
        row: TenantMemo | None = TenantMemo.objects.for_tenant(self.tenant_id).current().first()
        return row
