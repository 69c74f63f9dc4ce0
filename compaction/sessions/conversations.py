"""Read the input of a session's context in one short scope: session, profile, summary, message outlines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Message, Session
from compaction.pipeline.session_rows import find_session, outlines_to_turns
from compaction.services.sessions.turns import SessionTurn
from context.models import BudgetProfile
from context.profiles.budget_profiles import budget_profile_for
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.scopes import tenant_scope

#: Each statement sees rows committed meanwhile, so the read is repeated up to this often until it is consistent.
READS_MAX = 5
#: Fields that change with every append, masking, compaction or roll-back.
STANDS_BY = ("current_id", "message_count", "context_tokens", "model")


@dataclass(frozen=True)
class SessionConversation:
    """The input of a session's context. `turns` have no texts; their tokens include the markers.

    `profile` belongs to the caller, `policy` to the key that opened the session.
    `last_user_text` is the user's newest message.
    """

    session: Session
    profile: BudgetProfile
    policy: CompactionPolicy
    summary: Message | None
    turns: Sequence[SessionTurn]
    last_user_text: str


def read_session_conversation(
    *, tenant_id: UUID, session_id: UUID, reach: str, budget_profile: str, api_key_id: str | None
) -> SessionConversation:
    """The session within `reach` under the profile named, else the one assigned to the key or the partition.

    Raises `NotFound`, or `InvalidInput` for an unknown profile.
    """
    with tenant_scope(tenant_id):
        session = find_session(tenant_id=tenant_id, session_id=session_id, reach=reach)
        path = session.partition_path
        profile = budget_profile_for(tenant_id, api_key_id=api_key_id, partition_path=path, name=budget_profile)
        policy = budget_profile_for(tenant_id, api_key_id=session.created_by_key_id, partition_path=path)
        messages = Message.objects.for_tenant(tenant_id).of_session(session.pk)
        for _ in range(READS_MAX):
            summary = messages.of_compaction(session.current_id).first() if session.current_id else None
            turns = outlines_to_turns(messages.shown().outlines())
            last = messages.of_role(Message.Role.USER).last_said()
            before, session = session, find_session(tenant_id=tenant_id, session_id=session_id, reach=reach)
            if _is_same(before, session):
                break
    return SessionConversation(
        session,
        profile,
        policy.compaction_policy,
        summary,
        turns,
        last.content if last else "",
    )


def _is_same(session: Session, again: Session) -> bool:
    """Return whether the session is unchanged between two reads."""
    return all(getattr(session, name) == getattr(again, name) for name in STANDS_BY)


def read_message_contents(tenant_id: UUID, message_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the contents of messages by id."""
    with tenant_scope(tenant_id):
        contents: dict[UUID, str] = Message.objects.for_tenant(tenant_id).with_ids(message_ids).contents()
        return contents
