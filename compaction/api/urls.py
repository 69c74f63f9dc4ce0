"""Addresses of this room under /api/v1/."""

from django.urls import URLPattern, path

from compaction.api.contexts import SessionContextDoor
from compaction.api.messages import ExpandDoor, MessageDoor, MessagesDoor
from compaction.api.rollups import RollUpDoor
from compaction.api.sessions import SessionDoor, SessionRestoreDoor, SessionsDoor
from memory_platform.rest import addresses  # noqa: F401 - makes its types known

urlpatterns: list[URLPattern] = [
    path("sessions", SessionsDoor.as_view(), name="api-sessions"),
    path("sessions/<uuid:session_id>", SessionDoor.as_view(), name="api-session"),
    path("sessions/<uuid:session_id>/restore", SessionRestoreDoor.as_view(), name="api-session-restore"),
    path("sessions/<uuid:session_id>/messages", MessagesDoor.as_view(), name="api-messages"),
    path("sessions/<uuid:session_id>/context", SessionContextDoor.as_view(), name="api-session-context"),
    path("messages/<uuid:message_id>", MessageDoor.as_view(), name="api-message"),
    path("messages/<uuid:message_id>/expand", ExpandDoor.as_view(), name="api-message-expand"),
    path("partitions/<place:place>/roll-up", RollUpDoor.as_view(), name="api-roll-up"),
]
