"""Addresses of this room under /api/v1/."""

from django.urls import URLPattern, path

from compaction.api.messages import ExpandDoor, MessageDoor, MessagesDoor
from compaction.api.sessions import SessionDoor, SessionRestoreDoor, SessionsDoor

urlpatterns: list[URLPattern] = [
    path("sessions", SessionsDoor.as_view(), name="api-sessions"),
    path("sessions/<uuid:session_id>", SessionDoor.as_view(), name="api-session"),
    path("sessions/<uuid:session_id>/restore", SessionRestoreDoor.as_view(), name="api-session-restore"),
    path("sessions/<uuid:session_id>/messages", MessagesDoor.as_view(), name="api-messages"),
    path("messages/<uuid:message_id>", MessageDoor.as_view(), name="api-message"),
    path("messages/<uuid:message_id>/expand", ExpandDoor.as_view(), name="api-message-expand"),
]
