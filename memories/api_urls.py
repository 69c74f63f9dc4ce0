"""Addresses of this room under /api/v1/."""

from django.urls import path

from memories.partitions.api.links import LinkDoor, LinksDoor
from memories.partitions.api.partitions import MemoDoor, PartitionsDoor, SummariesDoor
from memories.partitions.api.snapshots import SnapshotComparisonDoor, SnapshotDoor, SnapshotsDoor
from memories.store.api.memories import BulkDoor, HistoryDoor, MemoriesDoor, MemoryDoor, RestoreDoor
from memories.tenancy.api.keys import KeyDoor, KeysDoor
from memory_platform.rest import converters  # noqa: F401 - makes its types known

urlpatterns = [
    path("memories", MemoriesDoor.as_view(), name="api-memories"),
    path("memories/bulk", BulkDoor.as_view(), name="api-memories-bulk"),
    path("memories/<uuid:memory_id>", MemoryDoor.as_view(), name="api-memory"),
    path("memories/<uuid:memory_id>/restore", RestoreDoor.as_view(), name="api-memory-restore"),
    path("memories/<uuid:memory_id>/history", HistoryDoor.as_view(), name="api-memory-history"),
    path("links", LinksDoor.as_view(), name="api-links"),
    path("links/<int:link_id>", LinkDoor.as_view(), name="api-link"),
    path("partitions", PartitionsDoor.as_view(), name="api-partitions"),
    path("partitions/<place:place>/summaries", SummariesDoor.as_view(), name="api-summaries"),
    path("memo", MemoDoor.as_view(), name="api-memo"),
    path("snapshots", SnapshotsDoor.as_view(), name="api-snapshots"),
    path("snapshots/<uuid:snapshot_id>", SnapshotDoor.as_view(), name="api-snapshot"),
    path("snapshots/<uuid:snapshot_id>/compare", SnapshotComparisonDoor.as_view(), name="api-snapshot-comparison"),
    path("keys", KeysDoor.as_view(), name="api-keys"),
    path("keys/<key_id:key_id>", KeyDoor.as_view(), name="api-key"),
]
