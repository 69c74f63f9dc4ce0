"""The list of sessions, and the page of one: its messages, compacted ones collapsed. Called inside a scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from compaction.models import Compaction, CompactionMember, Message, Run, Session
from compaction.pipeline.backlog import sessions_over_warning
from compaction.pipeline.plans import plan_session, proposed_compaction
from compaction.pipeline.policies import session_policy
from compaction.services.pipeline.generations import generation_warning
from compaction.sessions.minimap import Minimap, Outline, Span, minimap
from compaction.sessions.queries import SessionQuerySet
from context.services.profiles.compaction_policy import CompactionPolicy

_PAGE_SIZE = 100
COMPACTIONS_MAX = 20
FOUND_MAX = 100


@dataclass(frozen=True)
class MessageStretch:
    """Consecutive messages, shown in full, or collapsed because `compaction` summarised them."""

    messages: Sequence[Message]
    is_collapsed: bool
    compaction: Compaction | None
    #: Whether the preserve window begins with the first message of the stretch.
    opens_window: bool

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.messages)


@dataclass(frozen=True)
class Timeline:
    """A page of a session. `before` is the sequence after its last message; `older`, `newer` are the neighbours'."""

    session: Session
    policy: CompactionPolicy
    summary: Message | None
    warning: str
    stretches: Sequence[MessageStretch]
    before: int
    older: int | None
    newer: int | None
    window_from: int | None
    compactions: Sequence[Compaction]
    minimap: Minimap
    reversible_compaction: Compaction | None
    proposed: Compaction | None
    run: Run | None

    @property
    def first(self) -> int:
        return max(self.before - _PAGE_SIZE, 0)

    @property
    def last(self) -> int:
        return self.before - 1


def read_timeline(session: Session, *, before: int | None = None) -> Timeline:
    """Return the page that ends before a sequence, by default the newest. Twelve queries at most."""
    tenant_id, count = session.tenant_id, session.message_count
    end = min(max(before, 1), count) if before is not None else count
    start = max(end - _PAGE_SIZE, 0)
    rows = Message.objects.for_tenant(tenant_id).of_session(session.pk)
    policy = session_policy(session)
    planned = plan_session(session, policy, is_forced=False)
    first_preserved = planned.turns[planned.plan.first_preserved_index :][:1]
    window_from = first_preserved[0].sequence if first_preserved else None
    messages = list(rows.originals().between(start, end - 1).without_vectors()) if end else []
    compacted = [message.pk for message in messages if message.state == Message.State.COMPACTED]
    members = CompactionMember.objects.for_tenant(tenant_id).compacted_by_applied(compacted)
    compaction_of = {member.message_id: member.compaction for member in members}
    compactions = Compaction.objects.for_tenant(tenant_id).of_session(session.pk)
    spans = CompactionMember.objects.for_tenant(tenant_id).spans_of(session.pk)
    return Timeline(
        session=session,
        policy=policy,
        summary=rows.of_compaction(session.current_id).without_vectors().first() if session.current_id else None,
        warning=generation_warning(session.current.generation) if session.current else "",
        stretches=_stretches(messages, compaction_of, window_from),
        before=end,
        older=start or None,
        newer=min(end + _PAGE_SIZE, count) if end < count else None,
        window_from=window_from,
        compactions=list(compactions.newest_first().without_texts()[:COMPACTIONS_MAX]),
        minimap=minimap(
            [Outline(*row) for row in rows.strip()],
            [Span(*row) for row in spans],
            window_from=window_from,
            shown=(start, end - 1) if end - start < count else None,
        ),
        reversible_compaction=compactions.last_applied_first().without_texts().first(),
        proposed=proposed_compaction(session),
        run=Run.objects.for_tenant(tenant_id).of_session(session.pk).open().first(),
    )


def page_containing(session: Session, sequence: int) -> int:
    """Return the `before` of a page that shows a message with its neighbours."""
    return min(sequence + _PAGE_SIZE // 2, session.message_count)


def search_session_messages(session: Session, text: str) -> list[Message]:
    """Return messages that contain every word of `text`, in any state, in order."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals()
    return list(rows.containing_text(text).without_vectors()[:FOUND_MAX])


def _stretches(
    messages: Sequence[Message], compactions: dict[UUID, Compaction], window_from: int | None
) -> list[MessageStretch]:
    def place(message: Message) -> tuple[bool, UUID | None, bool]:
        compaction = compactions.get(message.pk)
        is_inside = window_from is not None and (message.sequence or 0) >= window_from
        return message.state == Message.State.COMPACTED, compaction.pk if compaction else None, is_inside

    stretches = []
    for (is_collapsed, _, _), grouped in groupby(messages, key=place):
        group = list(grouped)
        compaction = compactions.get(group[0].pk)
        stretches.append(MessageStretch(group, is_collapsed, compaction, group[0].sequence == window_from))
    return stretches


def filtered_sessions(tenant_id: UUID, *, partition: str, state: str, min_pressure: float) -> SessionQuerySet:
    """Return the matching sessions with their `fullness`, unordered. `state` is that of `SessionFilterForm`."""
    rows: SessionQuerySet = Session.objects.for_tenant(tenant_id).within(partition).with_pressure()
    rows = rows.at_least(min_pressure).with_current().with_titles()
    if state == "over":
        return rows.with_ids(session.pk for session in sessions_over_warning([tenant_id])[0].get(tenant_id, []))
    return {"": rows.open, "closed": rows.closed}.get(state, rows.all)()
