"""Endpoints of snapshots: names for recorded times of the whole tenant."""

from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Snapshot
from memories.partitions import serializers
from memories.partitions.actions import create_snapshot, delete_snapshot
from memories.partitions.queries.changes import CHANGE_KINDS
from memories.partitions.snapshot_comparison import SnapshotDiff, diff_points_in_time
from memories.services.store.moments import PointInTime
from memories.store.api.schema import list_operation, operation
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_whole_tenant
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.cursor_pagination import CursorError, CursorPosition, PageInput, page_url
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.serializers import EmptyInput

_NOW = {"The present": {"name": "before the import"}}
_THEN = {"A past time": {"name": "end of May", "recorded_at": "2026-06-01T00:00:00+02:00"}}


class SnapshotEndpointBase(Endpoint):
    """The base of the endpoints of snapshots."""

    scopes = {"POST": "admin", "DELETE": "admin"}
    output = serializers.SnapshotOutput

    def _snapshot(self, snapshot_id: UUID, field: str = "") -> Snapshot:
        return find_row(Snapshot.objects.for_tenant(self.tenant_id).with_id(snapshot_id), Snapshot, field=field)

    edited_row = _snapshot


class SnapshotListEndpoint(SnapshotEndpointBase):
    """Create a snapshot; list snapshots."""

    @list_operation("snapshots_list", serializers.SnapshotOutput)
    def get(self, request: Request) -> Response:
        """Snapshots, the latest recorded time first."""
        values = self.query(PageInput)
        rows = Snapshot.objects.for_tenant(self.tenant_id)
        return self.listing(rows, values, ordering="-recorded_at")

    @operation(
        "snapshots_create", {201: serializers.SnapshotOutput}, request=serializers.SnapshotInput, examples=_NOW | _THEN
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Name a recorded time: now or a past one."""
        require_whole_tenant(self.key)
        values = self.body(serializers.SnapshotInput)
        with tenant_scope(self.tenant_id):
            snapshot = create_snapshot(**values, **self.action_arguments)
        return Response(serializers.SnapshotOutput(snapshot).data, status=status.HTTP_201_CREATED)


class SnapshotEndpoint(SnapshotEndpointBase):
    """Read or delete a snapshot."""

    @operation("snapshots_read", {200: serializers.SnapshotOutput, 304: None}, 404)
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """The name and its recorded time."""
        return self.answer_with_etag(lambda: self.shown(snapshot_id))

    @operation("snapshots_delete", {204: None}, 404)
    @conditional
    def delete(self, request: Request, snapshot_id: UUID) -> Response:
        """Delete the name. No memory or version is lost."""
        require_whole_tenant(self.key)
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            delete_snapshot(snapshot=self._snapshot(snapshot_id), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SnapshotComparisonEndpoint(SnapshotEndpointBase):
    """Compare a snapshot with the current state or another snapshot."""

    @operation(
        "snapshots_compare",
        {200: serializers.SnapshotComparisonOutput},
        404,
        parameters=[serializers.SnapshotComparisonInput],
    )
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """Which memories were added, changed and removed since, within the key's reach, with their texts."""
        values = self.query(serializers.SnapshotComparisonInput)
        partition = readable_partition(self.key, values["partition"])
        kind, behind = self._requested_page(values)
        with tenant_scope(self.tenant_id):
            before = self._snapshot(snapshot_id)
            after = self._snapshot(values["with"], "with") if values["with"] else None
            comparison = diff_points_in_time(
                tenant_id=self.tenant_id,
                before=PointInTime.recorded(before.recorded_at),
                after=PointInTime.recorded(after.recorded_at) if after else PointInTime.now(self.now),
                reach=partition.path,
                kind=kind,
                behind=behind,
                limit=values["page_size"],
            )
        answer = {
            "before": before,
            "after": after or {"id": None, "name": serializers.PRESENT_REFERENCE, "recorded_at": self.now},
            "counts": comparison.counts,
            **comparison.changes,
            "next": {kind: self._next_url(comparison, kind) for kind in CHANGE_KINDS},
        }
        return Response(serializers.SnapshotComparisonOutput(answer).data)

    def _requested_page(self, values: dict[str, Any]) -> tuple[str | None, UUID | None]:
        kind, place = values.get("kind"), values["cursor"]
        if place is None:
            return kind, None
        if place.ordering != kind or not isinstance(place.id, UUID):
            raise RestError(CursorError.code, CursorError.detail, field="cursor")
        return kind, place.id

    def _next_url(self, comparison: SnapshotDiff, kind: str) -> str | None:
        if kind not in comparison.follows:
            return None
        last = CursorPosition(kind, 0, comparison.changes[kind][-1].memory_id)
        return page_url(self.request, last, kind=kind)
