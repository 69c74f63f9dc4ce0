"""URLs of compaction under /api/v1/."""

from django.urls import URLPattern, path

from compaction.alerts import api as alerts
from compaction.erasure import api as erasure
from compaction.pipeline.api import compactions, prompts
from compaction.rollups import api as rollups
from compaction.sessions.api import messages, sessions
from memory_platform.rest import url_converters  # noqa: F401 - makes its types known

_SESSION = "sessions/<uuid:session_id>"
_DESTINATION = "alert-destinations/<uuid:destination_id>"
urlpatterns: list[URLPattern] = [
    path("sessions", sessions.SessionListEndpoint.as_view(), name="api-sessions"),
    path(_SESSION, sessions.SessionEndpoint.as_view(), name="api-session"),
    path(f"{_SESSION}/restore", sessions.SessionRestoreEndpoint.as_view(), name="api-session-restore"),
    path(f"{_SESSION}/messages", messages.MessageListEndpoint.as_view(), name="api-messages"),
    path(f"{_SESSION}/context", sessions.SessionContextEndpoint.as_view(), name="api-session-context"),
    path(f"{_SESSION}/compact", compactions.SessionCompactEndpoint.as_view(), name="api-session-compact"),
    path(
        "sessions/<uuid:session_id>/compactions",
        compactions.SessionCompactionListEndpoint.as_view(),
        name="api-session-compactions",
    ),
    path(f"{_SESSION}/simulate", prompts.SessionSimulateEndpoint.as_view(), name="api-session-simulate"),
    path("prompts", prompts.PromptEndpoint.as_view(), name="api-prompts"),
    path("prompts/rollback", prompts.PromptRollBackEndpoint.as_view(), name="api-prompt-rollback"),
    path("prompts/trial", prompts.PromptTrialEndpoint.as_view(), name="api-prompt-trial"),
    path("compactions", compactions.CompactionListEndpoint.as_view(), name="api-compactions"),
    path("compactions/<uuid:compaction_id>", compactions.CompactionEndpoint.as_view(), name="api-compaction"),
    path(
        "compactions/<uuid:compaction_id>/review",
        compactions.CompactionReviewEndpoint.as_view(),
        name="api-compaction-review",
    ),
    path("events/<uuid:event_id>", compactions.EventEndpoint.as_view(), name="api-event"),
    path("events/<uuid:event_id>/retry", compactions.EventRetryEndpoint.as_view(), name="api-event-retry"),
    path("messages/<uuid:message_id>", messages.MessageEndpoint.as_view(), name="api-message"),
    path("messages/<uuid:message_id>/expand", messages.MessageExpandEndpoint.as_view(), name="api-message-expand"),
    path("erasures", erasure.ErasureListEndpoint.as_view(), name="api-erasures"),
    path("erasures/<uuid:erasure_id>", erasure.ErasureEndpoint.as_view(), name="api-erasure"),
    path("retention-policies", erasure.RetentionPolicyListEndpoint.as_view(), name="api-retention-policies"),
    path("retention-policies/<int:policy_id>", erasure.RetentionPolicyEndpoint.as_view(), name="api-retention-policy"),
    path("alerts", alerts.AlertListEndpoint.as_view(), name="api-alerts"),
    path("alert-rules", alerts.AlertRuleListEndpoint.as_view(), name="api-alert-rules"),
    path("alert-rules/<name:kind>", alerts.AlertRuleEndpoint.as_view(), name="api-alert-rule"),
    path("alert-destinations", alerts.AlertDestinationListEndpoint.as_view(), name="api-alert-destinations"),
    path(_DESTINATION, alerts.AlertDestinationEndpoint.as_view(), name="api-alert-destination"),
    path(f"{_DESTINATION}/restore", alerts.AlertDestinationRestoreEndpoint.as_view(), name="api-alert-restore"),
    path(f"{_DESTINATION}/test", alerts.AlertDestinationTestEndpoint.as_view(), name="api-alert-test"),
    path("alert-deliveries", alerts.AlertDeliveryListEndpoint.as_view(), name="api-alert-deliveries"),
    path("partitions/<place:place>/roll-up", rollups.RollUpEndpoint.as_view(), name="api-roll-up"),
]
