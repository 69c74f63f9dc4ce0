"""How the endpoints of snapshots stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from memories.partitions.serializers.snapshots import (
    ComparisonInput,
    SnapshotComparisonShape,
    SnapshotInput,
    SnapshotPageShape,
    SnapshotShape,
    SnapshotsInput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, answers

NOW = OpenApiExample("As it is now", {"name": "before the import"}, request_only=True)
THEN = OpenApiExample(
    "As it was", {"name": "end of May", "recorded_at": "2026-06-01T00:00:00+02:00"}, request_only=True
)

snapshots_schema = extend_schema(
    operation_id="snapshots_list",
    tags=["snapshots"],
    parameters=[SnapshotsInput],
    responses=answers({200: SnapshotPageShape}),
)
snapshot_create_schema = extend_schema(
    operation_id="snapshots_create",
    tags=["snapshots"],
    request=SnapshotInput,
    examples=[NOW, THEN],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({201: SnapshotShape}, 409, 413),
)
snapshot_read_schema = extend_schema(
    operation_id="snapshots_read",
    tags=["snapshots"],
    responses=answers({200: SnapshotShape}, 404),
)
snapshot_delete_schema = extend_schema(
    operation_id="snapshots_delete",
    tags=["snapshots"],
    responses=answers({204: None}, 404),
)
snapshot_compare_schema = extend_schema(
    operation_id="snapshots_compare",
    tags=["snapshots"],
    parameters=[ComparisonInput],
    responses=answers({200: SnapshotComparisonShape}, 404),
)
