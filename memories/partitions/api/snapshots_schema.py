"""How the endpoints of snapshots stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from memories.partitions.serializers.snapshots import (
    SnapshotComparisonInput,
    SnapshotComparisonOutput,
    SnapshotInput,
    SnapshotListInput,
    SnapshotOutput,
    SnapshotPageOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

_NOW = OpenApiExample("As it is now", {"name": "before the import"}, request_only=True)
_THEN = OpenApiExample(
    "As it was", {"name": "end of May", "recorded_at": "2026-06-01T00:00:00+02:00"}, request_only=True
)

snapshots_schema = extend_schema(
    operation_id="snapshots_list",
    tags=["snapshots"],
    parameters=[SnapshotListInput],
    responses=response_schemas({200: SnapshotPageOutput}),
)
snapshot_create_schema = extend_schema(
    operation_id="snapshots_create",
    tags=["snapshots"],
    request=SnapshotInput,
    examples=[_NOW, _THEN],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: SnapshotOutput}, 409, 413),
)
snapshot_read_schema = extend_schema(
    operation_id="snapshots_read",
    tags=["snapshots"],
    responses=response_schemas({200: SnapshotOutput}, 404),
)
snapshot_delete_schema = extend_schema(
    operation_id="snapshots_delete",
    tags=["snapshots"],
    responses=response_schemas({204: None}, 404),
)
snapshot_compare_schema = extend_schema(
    operation_id="snapshots_compare",
    tags=["snapshots"],
    parameters=[SnapshotComparisonInput],
    responses=response_schemas({200: SnapshotComparisonOutput}, 404),
)
