"""URLs of the pages about partitions, sessions and compaction; each names the tenant, so links can be shared."""

from django.urls import path

from compaction.pipeline.views import (
    partition_roll_ups,
    prompt_page,
    prompt_roll_back,
    run_retry,
    session_compact,
    session_simulate,
)
from compaction.review.views.reviews import (
    compaction_append,
    compaction_approve,
    compaction_compare,
    compaction_detail,
    compaction_presence,
    compaction_regenerate,
    compaction_reject,
    compaction_reopen,
    compaction_roll_back,
    compaction_trial,
    compaction_withdraw,
    review_queue,
)
from compaction.rollups.views import partition_branch, partitions
from compaction.sessions.views import message_expand, message_pin, message_unpin, session_detail, session_list

_TENANT = "t/<uuid:tenant_id>"
SESSION = f"{_TENANT}/sessions/<uuid:session_id>"
_MESSAGE = f"{_TENANT}/messages/<uuid:message_id>"
COMPACTION = f"{_TENANT}/compactions/<uuid:compaction_id>"

urlpatterns = [
    path(f"{_TENANT}/sessions", session_list, name="sessions"),
    path(SESSION, session_detail, name="session"),
    path(f"{SESSION}/compact", session_compact, name="session-compact"),
    path(f"{SESSION}/simulate", session_simulate, name="session-simulate"),
    path(f"{_MESSAGE}/pin", message_pin, name="message-pin"),
    path(f"{_MESSAGE}/unpin", message_unpin, name="message-unpin"),
    path(f"{_MESSAGE}/expand", message_expand, name="message-expand"),
    path(f"{_TENANT}/compactions", review_queue, name="reviews"),
    path(COMPACTION, compaction_detail, name="compaction"),
    path(f"{COMPACTION}/trial", compaction_trial, name="compaction-trial"),
    path(f"{COMPACTION}/append", compaction_append, name="compaction-append"),
    path(f"{COMPACTION}/withdraw", compaction_withdraw, name="compaction-withdraw"),
    path(f"{COMPACTION}/approve", compaction_approve, name="compaction-approve"),
    path(f"{COMPACTION}/reject", compaction_reject, name="compaction-reject"),
    path(f"{COMPACTION}/reopen", compaction_reopen, name="compaction-reopen"),
    path(f"{COMPACTION}/presence", compaction_presence, name="compaction-presence"),
    path(f"{COMPACTION}/compare", compaction_compare, name="compaction-compare"),
    path(f"{COMPACTION}/regenerate", compaction_regenerate, name="compaction-regenerate"),
    path(f"{COMPACTION}/roll-back", compaction_roll_back, name="compaction-roll-back"),
    path(f"{_TENANT}/runs/<uuid:run_id>/retry", run_retry, name="run-retry"),
    path(f"{_TENANT}/partitions", partitions, name="partitions"),
    path(f"{_TENANT}/partitions/below", partition_branch, name="partition-branch"),
    path(f"{_TENANT}/roll-ups", partition_roll_ups, name="roll-ups"),
    path(f"{_TENANT}/prompts", prompt_page, name="prompts"),
    path(f"{_TENANT}/prompts/<int:version>/roll-back", prompt_roll_back, name="prompt-roll-back"),
]
