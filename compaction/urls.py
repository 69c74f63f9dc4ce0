"""Addresses of the pages about partitions, sessions and their compaction; the tenant stands in each, to be shared."""

from django.urls import path

from compaction import views

TENANT = "t/<uuid:tenant_id>"
SESSION = f"{TENANT}/sessions/<uuid:session_id>"
MESSAGE = f"{TENANT}/messages/<uuid:message_id>"
COMPACTION = f"{TENANT}/compactions/<uuid:compaction_id>"

urlpatterns = [
    path(f"{TENANT}/sessions", views.sessions, name="sessions"),
    path(SESSION, views.session, name="session"),
    path(f"{SESSION}/compact", views.session_compact, name="session-compact"),
    path(f"{SESSION}/simulate", views.session_simulate, name="session-simulate"),
    path(f"{MESSAGE}/pin", views.message_pin, name="message-pin"),
    path(f"{MESSAGE}/unpin", views.message_unpin, name="message-unpin"),
    path(f"{MESSAGE}/expand", views.message_expand, name="message-expand"),
    path(f"{TENANT}/compactions", views.reviews, name="reviews"),
    path(COMPACTION, views.compaction, name="compaction"),
    path(f"{COMPACTION}/trial", views.compaction_trial, name="compaction-trial"),
    path(f"{COMPACTION}/append", views.compaction_append, name="compaction-append"),
    path(f"{COMPACTION}/withdraw", views.compaction_withdraw, name="compaction-withdraw"),
    path(f"{COMPACTION}/approve", views.compaction_approve, name="compaction-approve"),
    path(f"{COMPACTION}/reject", views.compaction_reject, name="compaction-reject"),
    path(f"{COMPACTION}/reopen", views.compaction_reopen, name="compaction-reopen"),
    path(f"{COMPACTION}/presence", views.compaction_presence, name="compaction-presence"),
    path(f"{COMPACTION}/compare", views.compaction_compare, name="compaction-compare"),
    path(f"{COMPACTION}/regenerate", views.compaction_regenerate, name="compaction-regenerate"),
    path(f"{COMPACTION}/roll-back", views.compaction_roll_back, name="compaction-roll-back"),
    path(f"{TENANT}/runs", views.runs, name="runs"),
    path(f"{TENANT}/runs/<uuid:run_id>/retry", views.run_retry, name="run-retry"),
    path(f"{TENANT}/partitions", views.partitions, name="partitions"),
    path(f"{TENANT}/partitions/below", views.partition_branch, name="partition-branch"),
    path(f"{TENANT}/roll-ups", views.roll_ups, name="roll-ups"),
    path(f"{TENANT}/prompts", views.prompts, name="prompts"),
    path(f"{TENANT}/prompts/<int:version>/roll-back", views.prompt_roll_back, name="prompt-roll-back"),
]
