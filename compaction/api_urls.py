"""URLs of compaction under /api/v1/."""

from django.urls import URLPattern, path

from compaction.pipeline.api.compactions import (
    CompactionEndpoint,
    CompactionListEndpoint,
    CompactionReviewEndpoint,
    EventEndpoint,
    EventRetryEndpoint,
    SessionCompactEndpoint,
    SessionCompactionListEndpoint,
)
from compaction.pipeline.api.prompts import (
    PromptEndpoint,
    PromptRollBackEndpoint,
    PromptTrialEndpoint,
    SessionSimulateEndpoint,
)
from compaction.rollups.api import RollUpEndpoint
from compaction.sessions.api.messages import MessageEndpoint, MessageExpandEndpoint, MessageListEndpoint
from compaction.sessions.api.sessions import (
    SessionContextEndpoint,
    SessionEndpoint,
    SessionListEndpoint,
    SessionRestoreEndpoint,
)
from memory_platform.rest import converters  # noqa: F401 - makes its types known

_SESSION = "sessions/<uuid:session_id>"
urlpatterns: list[URLPattern] = [
    path("sessions", SessionListEndpoint.as_view(), name="api-sessions"),
    path(_SESSION, SessionEndpoint.as_view(), name="api-session"),
    path(f"{_SESSION}/restore", SessionRestoreEndpoint.as_view(), name="api-session-restore"),
    path(f"{_SESSION}/messages", MessageListEndpoint.as_view(), name="api-messages"),
    path(f"{_SESSION}/context", SessionContextEndpoint.as_view(), name="api-session-context"),
    path(f"{_SESSION}/compact", SessionCompactEndpoint.as_view(), name="api-session-compact"),
    path(
        "sessions/<uuid:session_id>/compactions",
        SessionCompactionListEndpoint.as_view(),
        name="api-session-compactions",
    ),
    path(f"{_SESSION}/simulate", SessionSimulateEndpoint.as_view(), name="api-session-simulate"),
    path("prompts", PromptEndpoint.as_view(), name="api-prompts"),
    path("prompts/rollback", PromptRollBackEndpoint.as_view(), name="api-prompt-roll-back"),
    path("prompts/trial", PromptTrialEndpoint.as_view(), name="api-prompt-trial"),
    path("compactions", CompactionListEndpoint.as_view(), name="api-compactions"),
    path("compactions/<uuid:compaction_id>", CompactionEndpoint.as_view(), name="api-compaction"),
    path("compactions/<uuid:compaction_id>/review", CompactionReviewEndpoint.as_view(), name="api-compaction-review"),
    path("events/<uuid:event_id>", EventEndpoint.as_view(), name="api-event"),
    path("events/<uuid:event_id>/retry", EventRetryEndpoint.as_view(), name="api-event-retry"),
    path("messages/<uuid:message_id>", MessageEndpoint.as_view(), name="api-message"),
    path("messages/<uuid:message_id>/expand", MessageExpandEndpoint.as_view(), name="api-message-expand"),
    path("partitions/<place:place>/roll-up", RollUpEndpoint.as_view(), name="api-roll-up"),
]
