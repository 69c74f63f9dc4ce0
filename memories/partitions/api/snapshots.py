"""Endpoints of snapshots: names for recorded times of the whole tenant."""

from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Snapshot
from memories.partitions.actions.snapshots import create_snapshot, delete_snapshot
from memories.partitions.api.snapshots_schema import (
    snapshot_compare_schema,
    snapshot_create_schema,
    snapshot_delete_schema,
    snapshot_read_schema,
    snapshots_schema,
)
from memories.partitions.queries.changes import CHANGE_KINDS
from memories.partitions.serializers.snapshots import (
    PRESENT_REFERENCE,
    SnapshotComparisonInput,
    SnapshotInput,
    SnapshotListInput,
    serialize_memory_change,
    serialize_snapshot,
)
from memories.partitions.snapshot_comparison import SnapshotDiff, diff_points_in_time
from memories.services.store.moments import PointInTime
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_whole_tenant
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.errors import RestError
from memory_platform.rest.fields import format_utc
from memory_platform.rest.pages import CursorError, CursorPosition, write_cursor
from memory_platform.rest.serializers import EmptyInput


class SnapshotEndpointBase(Endpoint):
    """What the endpoints of snapshots share."""

    scopes = {"POST": "admin", "DELETE": "admin"}

    def _snapshot(self, snapshot_id: UUID) -> Snapshot:
        found: Snapshot | None = Snapshot.objects.for_tenant(self.tenant_id).with_id(snapshot_id).first()
        if found is None:
            raise NotFound("not_found", "There is no such snapshot.")
        return found


class SnapshotListEndpoint(SnapshotEndpointBase):
    """Name a recorded time; list the names."""

    @snapshots_schema
    def get(self, request: Request) -> Response:
        """Snapshots, the latest recorded time first."""
        values = self.query(SnapshotListInput)
        rows = Snapshot.objects.for_tenant(self.tenant_id)
        return self.listing(rows, values, ordering="-recorded_at", kinds=(datetime, UUID), answer=serialize_snapshot)

    @snapshot_create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Give a recorded time a name: now, or one that has been."""
        require_whole_tenant(self.key)
        values = self.body(SnapshotInput)
        with tenant_scope(self.tenant_id):
            snapshot = create_snapshot(
                tenant=self.key.tenant,
                name=values["name"],
                recorded_at=values["recorded_at"],
                by=self.actor,
                now=self.now,
            )
        return Response(serialize_snapshot(snapshot), status=status.HTTP_201_CREATED)


class SnapshotEndpoint(SnapshotEndpointBase):
    """One snapshot."""

    @snapshot_read_schema
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """The name and its time."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = serialize_snapshot(self._snapshot(snapshot_id))
        return Response(answer)

    @snapshot_delete_schema
    def delete(self, request: Request, snapshot_id: UUID) -> Response:
        """Forget the name. Nothing that was held then is lost."""
        require_whole_tenant(self.key)
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            delete_snapshot(snapshot=self._snapshot(snapshot_id), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SnapshotComparisonEndpoint(SnapshotEndpointBase):
    """A snapshot beside the present or another one."""

    @snapshot_compare_schema
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """Which memories were added, changed and removed since, within the key's reach, with their texts."""
        values = self.query(SnapshotComparisonInput)
        partition = readable_partition(self.key, values["partition"])
        kind, behind = self._place(values)
        with tenant_scope(self.tenant_id):
            before = self._snapshot(snapshot_id)
            after = self._other(values["with"])
            comparison = diff_points_in_time(
                tenant_id=self.tenant_id,
                before=PointInTime.recorded(before.recorded_at),
                after=PointInTime.recorded(after.recorded_at) if after else PointInTime.now(self.now),
                reach=partition.path,
                kind=kind,
                behind=behind,
                limit=values["page_size"],
            )
        lists = {
            name: [serialize_memory_change(change) for change in comparison.changes[name]] for name in CHANGE_KINDS
        }
        following = {name: self._following(comparison, name) for name in CHANGE_KINDS}
        return Response(
            {
                "before": _moment_answer(before),
                "after": _moment_answer(after) if after else self._now_answer(),
                "counts": dict(comparison.counts),
                **lists,
                "next": following,
            }
        )

    def _place(self, values: dict[str, Any]) -> tuple[str | None, UUID | None]:
        """Which list is wanted, from behind which memory on."""
        kind, place = values.get("kind"), values["cursor"]
        if place is None:
            return kind, None
        if place.ordering != kind or not isinstance(place.id, UUID):
            raise RestError(CursorError.code, CursorError.detail, field="cursor")
        return kind, place.id

    def _other(self, snapshot_id: UUID | None) -> Snapshot | None:
        if snapshot_id is None:
            return None
        try:
            return self._snapshot(snapshot_id)
        except NotFound as error:
            raise NotFound(error.code, error.detail, "with") from error

    def _following(self, comparison: SnapshotDiff, kind: str) -> str | None:
        """The address of the rest of a list."""
        if kind not in comparison.follows:
            return None
        query = self.request.query_params.copy()
        query["kind"] = kind
        query["cursor"] = write_cursor(CursorPosition(kind, 0, comparison.changes[kind][-1].memory_id))
        return self.request.build_absolute_uri(f"?{query.urlencode()}")

    def _now_answer(self) -> dict[str, Any]:
        return {"id": None, "name": PRESENT_REFERENCE, "recorded_at": format_utc(self.now)}


def _moment_answer(snapshot: Snapshot) -> dict[str, Any]:
    return {"id": str(snapshot.pk), "name": snapshot.name, "recorded_at": format_utc(snapshot.recorded_at)}
