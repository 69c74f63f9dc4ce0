"""A session as it was recorded, for playing it through. Inside a scope."""

from compaction.models import Message, Session
from compaction.services.turns import Turn
from compaction.turns_of import turns_of


def recorded_turns(session: Session) -> list[Turn]:
    """Every message in its order, whatever its state."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals()
    return turns_of(rows.without_vectors(), model=session.model)
