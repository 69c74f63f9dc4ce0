"""Verbs of sessions and of compaction."""

from compaction.actions.compactions import (
    append_missing,
    approve,
    edit_summary,
    regenerate,
    reject,
    reopen,
    request_compaction,
    retry_run,
    roll_back,
    withdraw_appended,
)
from compaction.actions.messages import Appended, append_messages, expand_message, pin_message
from compaction.actions.prompts import roll_back_prompt, save_prompt
from compaction.actions.rollups import request_roll_up
from compaction.actions.sessions import close_session, create_session, restore_session, update_session

__all__ = [
    "Appended",
    "append_messages",
    "append_missing",
    "approve",
    "close_session",
    "create_session",
    "edit_summary",
    "expand_message",
    "pin_message",
    "regenerate",
    "reject",
    "reopen",
    "request_compaction",
    "request_roll_up",
    "restore_session",
    "retry_run",
    "roll_back",
    "roll_back_prompt",
    "save_prompt",
    "update_session",
    "withdraw_appended",
]
