"""A session as it was recorded, for playing it through. Inside a scope."""

from compaction.models import Message, Session
from compaction.pipeline.message_adapter import messages_to_turns
from compaction.services.sessions.turns import SessionTurn


def read_all_turns(session: Session) -> list[SessionTurn]:
    """Every message in its order, whatever its state."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals()
    return messages_to_turns(rows.without_vectors(), model=session.model)
