"""Sessions, messages, compactions with their runs and prompts, erasures, and alerts."""

from compaction.models.alerts import Alert, AlertDelivery, AlertDestination, AlertRule
from compaction.models.compactions import Compaction, CompactionMember, CompactionPrompt, ProviderBreaker, Run
from compaction.models.erasure import Erasure, RetentionPolicy
from compaction.models.sessions import Message, Session

__all__ = ["Alert", "AlertDelivery", "AlertDestination", "AlertRule"]
__all__ += ["Compaction", "CompactionMember", "CompactionPrompt", "Erasure", "Message", "ProviderBreaker"]
__all__ += ["RetentionPolicy", "Run", "Session"]
