"""URLs of the endpoints under /api/v1/."""

from django.urls import path

from memories.hygiene.api import ActEndpoint, ActUndoEndpoint, HygieneListEndpoint, HygieneListsEndpoint
from memories.partitions.api.partitions import (
    LinkEndpoint,
    LinkListEndpoint,
    PartitionListEndpoint,
    PartitionSummaryEndpoint,
    TenantMemoEndpoint,
)
from memories.partitions.api.snapshots import SnapshotComparisonEndpoint, SnapshotEndpoint, SnapshotListEndpoint
from memories.store.api import memories as api
from memories.store.api.import_export import ExportEndpoint, ImportEndpoint
from memories.store.api.moves import MemoryMoveEndpoint
from memories.tenancy.api.api_keys import ApiKeyEndpoint, ApiKeyListEndpoint
from memory_platform.rest import url_converters  # noqa: F401 - registers the path converters

urlpatterns = [
    path("memories", api.MemoryListEndpoint.as_view(), name="api-memories"),
    path("memories/bulk", api.MemoryBulkEndpoint.as_view(), name="api-memories-bulk"),
    path("export", ExportEndpoint.as_view(), name="api-export"),
    path("import", ImportEndpoint.as_view(), name="api-import"),
    path("memories/move", MemoryMoveEndpoint.as_view(), name="api-memories-move"),
    path("acts/<uuid:act_id>", ActEndpoint.as_view(), name="api-act"),
    path("acts/<uuid:act_id>/undo", ActUndoEndpoint.as_view(), name="api-act-undo"),
    path("hygiene", HygieneListsEndpoint.as_view(), name="api-hygiene"),
    path("hygiene/<name:name>", HygieneListEndpoint.as_view(), name="api-hygiene-list"),
    path("memories/<uuid:memory_id>", api.MemoryEndpoint.as_view(), name="api-memory"),
    path("memories/<uuid:memory_id>/restore", api.MemoryRestoreEndpoint.as_view(), name="api-memory-restore"),
    path("memories/<uuid:memory_id>/history", api.MemoryHistoryEndpoint.as_view(), name="api-memory-history"),
    path("links", LinkListEndpoint.as_view(), name="api-links"),
    path("links/<int:link_id>", LinkEndpoint.as_view(), name="api-link"),
    path("partitions", PartitionListEndpoint.as_view(), name="api-partitions"),
    path("partitions/<place:place>/summaries", PartitionSummaryEndpoint.as_view(), name="api-summaries"),
    path("memo", TenantMemoEndpoint.as_view(), name="api-memo"),
    path("snapshots", SnapshotListEndpoint.as_view(), name="api-snapshots"),
    path("snapshots/<uuid:snapshot_id>", SnapshotEndpoint.as_view(), name="api-snapshot"),
    path("snapshots/<uuid:snapshot_id>/compare", SnapshotComparisonEndpoint.as_view(), name="api-snapshot-comparison"),
    path("keys", ApiKeyListEndpoint.as_view(), name="api-keys"),
    path("keys/<key_id:key_id>", ApiKeyEndpoint.as_view(), name="api-key"),
]
