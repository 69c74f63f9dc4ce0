"""Addresses of this room under /api/v1/."""

from django.urls import path

from memories.api.memories import BulkDoor, HistoryDoor, MemoriesDoor, MemoryDoor, RestoreDoor

urlpatterns = [
    path("memories", MemoriesDoor.as_view(), name="api-memories"),
    path("memories/bulk", BulkDoor.as_view(), name="api-memories-bulk"),
    path("memories/<uuid:memory_id>", MemoryDoor.as_view(), name="api-memory"),
    path("memories/<uuid:memory_id>/restore", RestoreDoor.as_view(), name="api-memory-restore"),
    path("memories/<uuid:memory_id>/history", HistoryDoor.as_view(), name="api-memory-history"),
]
