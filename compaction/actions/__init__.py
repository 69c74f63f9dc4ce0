"""Verbs of sessions and of compaction."""

from compaction.actions.messages import Appended, append_messages, expand_message, pin_message
from compaction.actions.rollups import request_roll_up
from compaction.actions.sessions import close_session, create_session, restore_session, update_session

__all__ = [
    "Appended",
    "append_messages",
    "close_session",
    "create_session",
    "expand_message",
    "pin_message",
    "request_roll_up",
    "restore_session",
    "update_session",
]
