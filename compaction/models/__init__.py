"""Sessions, their messages, and what became of those: compactions, their runs, the prompts they were made with."""

from compaction.models.compactions import Compaction, CompactionMember, CompactionPrompt, ProviderBreaker, Run
from compaction.models.erasure import Erasure, RetentionPolicy
from compaction.models.sessions import Message, Session

__all__ = ["Compaction", "CompactionMember", "CompactionPrompt", "Erasure", "Message", "ProviderBreaker"]
__all__ += ["RetentionPolicy", "Run", "Session"]
