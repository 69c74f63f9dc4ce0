"""Operator pages about partitions and sessions: what stands where, how full they are, how they shrank, who decides."""

from compaction.views.background import roll_ups, run_retry, runs
from compaction.views.compacting import session_compact, session_simulate
from compaction.views.partitions import partition_branch, partitions
from compaction.views.prompts import prompt_roll_back, prompts
from compaction.views.review_texts import compaction, compaction_append, compaction_trial, compaction_withdraw
from compaction.views.reviews import (
    compaction_approve,
    compaction_compare,
    compaction_presence,
    compaction_regenerate,
    compaction_reject,
    compaction_reopen,
    compaction_roll_back,
    reviews,
)
from compaction.views.sessions import (
    message_expand,
    message_pin,
    message_unpin,
    session,
    sessions,
)

__all__ = [
    "compaction",
    "compaction_append",
    "compaction_approve",
    "compaction_compare",
    "compaction_presence",
    "compaction_regenerate",
    "compaction_reject",
    "compaction_reopen",
    "compaction_roll_back",
    "compaction_trial",
    "compaction_withdraw",
    "message_expand",
    "message_pin",
    "message_unpin",
    "partition_branch",
    "partitions",
    "prompt_roll_back",
    "prompts",
    "reviews",
    "roll_ups",
    "run_retry",
    "runs",
    "session",
    "session_compact",
    "session_simulate",
    "sessions",
]
