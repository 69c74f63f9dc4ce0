"""Addresses of this room under /api/v1/."""

from django.urls import URLPattern, path

from compaction.pipeline.api.compactions import (
    CompactDoor,
    CompactionDoor,
    CompactionsDoor,
    ReviewDoor,
    SessionCompactionsDoor,
)
from compaction.pipeline.api.events import EventDoor, EventRetryDoor
from compaction.pipeline.api.prompts import PromptBackDoor, PromptsDoor, PromptTrialDoor, SimulateDoor
from compaction.rollups.api import RollUpDoor
from compaction.sessions.api.contexts import SessionContextDoor
from compaction.sessions.api.messages import ExpandDoor, MessageDoor, MessagesDoor
from compaction.sessions.api.sessions import SessionDoor, SessionRestoreDoor, SessionsDoor
from memory_platform.rest import converters  # noqa: F401 - makes its types known

urlpatterns: list[URLPattern] = [
    path("sessions", SessionsDoor.as_view(), name="api-sessions"),
    path("sessions/<uuid:session_id>", SessionDoor.as_view(), name="api-session"),
    path("sessions/<uuid:session_id>/restore", SessionRestoreDoor.as_view(), name="api-session-restore"),
    path("sessions/<uuid:session_id>/messages", MessagesDoor.as_view(), name="api-messages"),
    path("sessions/<uuid:session_id>/context", SessionContextDoor.as_view(), name="api-session-context"),
    path("sessions/<uuid:session_id>/compact", CompactDoor.as_view(), name="api-compact"),
    path("sessions/<uuid:session_id>/compactions", SessionCompactionsDoor.as_view(), name="api-session-compactions"),
    path("sessions/<uuid:session_id>/simulate", SimulateDoor.as_view(), name="api-simulate"),
    path("prompts", PromptsDoor.as_view(), name="api-prompts"),
    path("prompts/rollback", PromptBackDoor.as_view(), name="api-prompts-rollback"),
    path("prompts/try", PromptTrialDoor.as_view(), name="api-prompts-try"),
    path("compactions", CompactionsDoor.as_view(), name="api-compactions"),
    path("compactions/<uuid:compaction_id>", CompactionDoor.as_view(), name="api-compaction"),
    path("compactions/<uuid:compaction_id>/review", ReviewDoor.as_view(), name="api-compaction-review"),
    path("events/<uuid:event_id>", EventDoor.as_view(), name="api-event"),
    path("events/<uuid:event_id>/retry", EventRetryDoor.as_view(), name="api-event-retry"),
    path("messages/<uuid:message_id>", MessageDoor.as_view(), name="api-message"),
    path("messages/<uuid:message_id>/expand", ExpandDoor.as_view(), name="api-message-expand"),
    path("partitions/<place:place>/roll-up", RollUpDoor.as_view(), name="api-roll-up"),
]
