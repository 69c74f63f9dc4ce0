"""A session as it was recorded, for playing it through. Inside a scope."""

from compaction.models import Message, Session
from compaction.pipeline.message_adapter import turns_of
from compaction.services.sessions.turns import Turn


def recorded_turns(session: Session) -> list[Turn]:
    """Every message in its order, whatever its state."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals()
    return turns_of(rows.without_vectors(), model=session.model)
