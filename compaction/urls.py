"""URLs of the pages about partitions, sessions and compaction, below the URL of the tenant."""

from django.urls import path

from compaction.alerts import views as alerts
from compaction.erasure import views as erasure
from compaction.pipeline import views as pipeline
from compaction.review.views import reviews, statements
from compaction.rollups import views as rollups
from compaction.sessions import views as sessions

SESSION = "sessions/<uuid:session_id>"
_MESSAGE = "messages/<uuid:message_id>"
COMPACTION = "compactions/<uuid:compaction_id>"
_DESTINATION = "alert-destinations/<uuid:destination_id>"

urlpatterns = [
    path("sessions", sessions.session_list, name="sessions"),
    path(SESSION, sessions.session_detail, name="session"),
    path(f"{SESSION}/compact", pipeline.session_compact, name="session-compact"),
    path(f"{SESSION}/simulate", pipeline.session_simulate, name="session-simulate"),
    path(f"{_MESSAGE}/pin", sessions.message_pin, name="message-pin"),
    path(f"{_MESSAGE}/unpin", sessions.message_unpin, name="message-unpin"),
    path(f"{_MESSAGE}/expand", sessions.message_expand, name="message-expand"),
    path("compactions", reviews.review_queue, name="reviews"),
    path(COMPACTION, reviews.compaction_detail, name="compaction"),
    path(f"{COMPACTION}/trial", reviews.compaction_trial, name="compaction-trial"),
    path(f"{COMPACTION}/append", statements.compaction_append, name="compaction-append"),
    path(f"{COMPACTION}/withdraw", statements.compaction_withdraw, name="compaction-withdraw"),
    path(f"{COMPACTION}/strike", statements.compaction_strike, name="compaction-strike"),
    path(f"{COMPACTION}/swap", statements.compaction_swap, name="compaction-swap"),
    path(f"{COMPACTION}/approve", reviews.compaction_approve, name="compaction-approve"),
    path(f"{COMPACTION}/undo-approval", reviews.compaction_undo_approval, name="compaction-undo-approval"),
    path(f"{COMPACTION}/reject", reviews.compaction_reject, name="compaction-reject"),
    path(f"{COMPACTION}/mark-reviewed", reviews.compaction_mark_reviewed, name="compaction-mark-reviewed"),
    path(f"{COMPACTION}/reopen", reviews.compaction_reopen, name="compaction-reopen"),
    path(f"{COMPACTION}/presence", reviews.compaction_presence, name="compaction-presence"),
    path(f"{COMPACTION}/compare", reviews.compaction_compare, name="compaction-compare"),
    path(f"{COMPACTION}/regenerate", reviews.compaction_regenerate, name="compaction-regenerate"),
    path(f"{COMPACTION}/rollback", reviews.compaction_roll_back, name="compaction-rollback"),
    path("alerts", alerts.alerts, name="alerts"),
    path("alert-destinations", alerts.destination_add, name="alert-destination-add"),
    path(f"{_DESTINATION}/test", alerts.destination_test, name="alert-destination-test"),
    path(f"{_DESTINATION}/remove", alerts.destination_remove, name="alert-destination-remove"),
    path(f"{_DESTINATION}/restore", alerts.destination_restore, name="alert-destination-restore"),
    path("erase", erasure.erase, name="erase"),
    path("erasures", erasure.erasures, name="erasures"),
    path("erasures/<uuid:erasure_id>", erasure.erasure, name="erasure"),
    path("retention/<int:policy_id>/remove", erasure.retention_remove, name="retention-remove"),
    path("runs/<uuid:run_id>/retry", pipeline.run_retry, name="run-retry"),
    path("partitions", rollups.partitions, name="partitions"),
    path("partitions/children", rollups.partition_children, name="partition-children"),
    path("roll-ups", pipeline.partition_roll_ups, name="roll-ups"),
    path("prompts", pipeline.prompt_page, name="prompts"),
    path("prompts/<int:version>/rollback", pipeline.prompt_roll_back, name="prompt-rollback"),
]
