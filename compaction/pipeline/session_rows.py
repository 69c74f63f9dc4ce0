"""Finding sessions and messages, and holding one session: steps of verbs and doors, run inside their scope."""

from uuid import UUID

from compaction.models import Message, Session
from memories.tenancy.exceptions import Conflict, NotFound


def find_session(*, tenant_id: UUID, session_id: UUID, reach: str, is_open: bool = True) -> Session:
    """The session in a partition within `reach`, with its current compaction; a closed one only where it is asked for.

    Raises `NotFound`: `not_found`, or `session_closed`.
    """
    rows = Session.objects.for_tenant(tenant_id).within(reach).with_id(session_id)
    session: Session | None = rows.with_current().first()
    if session is None:
        raise NotFound("not_found", "There is no such session.")
    if is_open and session.closed_at is not None:
        raise NotFound("session_closed", "The session is closed; POST to its /restore opens it again.")
    return session


def find_message(*, tenant_id: UUID, message_id: UUID, reach: str) -> Message:
    """An original message of a session within `reach`. Raises `NotFound`."""
    rows = Message.objects.for_tenant(tenant_id).within(reach).with_id(message_id).originals()
    message: Message | None = rows.without_vectors().first()
    if message is None:
        raise NotFound("not_found", "There is no such message.")
    return message


def lock_session(session_id: UUID, *, is_open: bool = True) -> Session:
    """The session, held until the transaction ends. Raises `NotFound`, or `Conflict` for a closed one."""
    session: Session | None = Session.objects.with_id(session_id).locked().first()
    if session is None:
        raise NotFound("not_found", "There is no such session.")
    if is_open and session.closed_at is not None:
        raise Conflict("session_closed", "The session is closed; POST to its /restore opens it again.")
    return session
