"""What a session's context is made of, read in one short scope: session, profile, summary, outlines of the messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Message, Session
from compaction.pipeline.message_adapter import outlines_to_turns
from compaction.pipeline.session_rows import find_session
from compaction.services.sessions.turns import SessionTurn
from context.models import BudgetProfile
from context.profiles.budget_profiles import budget_profile_for
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.scopes import tenant_scope

#: Each statement sees what others committed meanwhile. So often it is read anew then, before it is taken as it comes.
READS_MAX = 5
#: What changes with every append, masking, compaction and roll-back.
STANDS_BY = ("current_id", "message_count", "context_tokens", "model")


@dataclass(frozen=True)
class SessionConversation:
    """A session as its context shows it. `turns` are without texts, their tokens with those of their markers.

    `profile` is the asker's, `policy` that of whoever opened the session: by it the session shrinks, whoever asks.
    `asked` is what the user said last.
    """

    session: Session
    profile: BudgetProfile
    policy: CompactionPolicy
    summary: Message | None
    turns: Sequence[SessionTurn]
    asked: str


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
    """Whether nobody appended to the session or compacted it in between."""
    return all(getattr(session, name) == getattr(again, name) for name in STANDS_BY)


def read_message_contents(tenant_id: UUID, message_ids: Iterable[UUID]) -> dict[UUID, str]:
    """What was said, by message."""
    with tenant_scope(tenant_id):
        contents: dict[UUID, str] = Message.objects.for_tenant(tenant_id).with_ids(message_ids).contents()
        return contents
