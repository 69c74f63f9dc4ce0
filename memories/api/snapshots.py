"""Endpoints of snapshots: names for recorded times of the whole tenant."""

from datetime import datetime
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.actions import create_snapshot, delete_snapshot
from memories.api.door import Door
from memories.api.idempotency import idempotent
from memories.api.permissions import require_whole_tenant
from memories.api.snapshots_schema import (
    snapshot_create_schema,
    snapshot_delete_schema,
    snapshot_read_schema,
    snapshots_schema,
)
from memories.exceptions import NotFound
from memories.models import Snapshot
from memories.scopes import tenant_scope
from memories.serializers.snapshots import SnapshotInput, SnapshotsInput, snapshot_answer
from memory_platform.rest.strict import EmptyInput


class SnapshotRows(Door):
    """What the endpoints of snapshots share."""

    scopes = {"POST": "admin", "DELETE": "admin"}

    def _snapshot(self, snapshot_id: UUID) -> Snapshot:
        found: Snapshot | None = Snapshot.objects.for_tenant(self.tenant_id).with_id(snapshot_id).first()
        if found is None:
            raise NotFound("not_found", "There is no such snapshot.")
        return found


class SnapshotsDoor(SnapshotRows):
    """Name a recorded time; list the names."""

    @snapshots_schema
    def get(self, request: Request) -> Response:
        """Snapshots, the latest recorded time first."""
        values = self.query(SnapshotsInput)
        rows = Snapshot.objects.for_tenant(self.tenant_id)
        return self.listing(rows, values, ordering="-recorded_at", kinds=(datetime, UUID), answer=snapshot_answer)

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
        return Response(snapshot_answer(snapshot), status=status.HTTP_201_CREATED)


class SnapshotDoor(SnapshotRows):
    """One snapshot."""

    @snapshot_read_schema
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """The name and its time."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = snapshot_answer(self._snapshot(snapshot_id))
        return Response(answer)

    @snapshot_delete_schema
    def delete(self, request: Request, snapshot_id: UUID) -> Response:
        """Forget the name. Nothing that was held then is lost."""
        require_whole_tenant(self.key)
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            delete_snapshot(snapshot=self._snapshot(snapshot_id), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
