"""Addresses of this room under /api/v1/."""

from django.urls import path

from context.api.contexts import ContextDoor, ContextsDoor, ReceiptDoor
from context.api.search import SearchDoor

urlpatterns = [
    path("memories/search", SearchDoor.as_view(), name="api-memories-search"),
    path("context", ContextDoor.as_view(), name="api-context"),
    path("context/<uuid:receipt_id>", ReceiptDoor.as_view(), name="api-receipt"),
    path("contexts", ContextsDoor.as_view(), name="api-contexts"),
]
