"""Plan and create compactions; read prompt versions and drafting input."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.models import Compaction, CompactionPrompt, Message, Run, Session
from compaction.pipeline.journal import journal_texts
from compaction.pipeline.session_rows import messages_to_turns
from compaction.pipeline.summarisers import has_model, summary_model
from compaction.services.pipeline import planning, states
from compaction.services.pipeline.prompts import PROMPT, PROMPT_VERSION
from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.stored_statements import CitedStatement, recorded_facts
from compaction.services.sessions.pressure import planning_reserve
from compaction.services.sessions.turns import SessionTurn
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.models import AuditEntry
from memories.services.store.content import CodedError
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.scopes import tenant_scope


def open_compaction(
    session: Session,
    policy: CompactionPolicy,
    *,
    trigger: str,
    model: str = "",
    prompt_version: int | None = None,
    replaces: Compaction | None = None,
    by: Actor,
    now: datetime,
) -> Run:
    """Create a pending compaction with a queued run. Raises `Conflict` while another one of the session is open."""
    require_no_proposal(session.tenant_id, session.pk, but=replaces.pk if replaces else None)
    shared = {"tenant_id": session.tenant_id, "session": session, "requested_by": by.stored_label, "created_at": now}
    try:
        with transaction.atomic():
            compaction = Compaction.objects.create(
                trigger=trigger,
                policy=policy.as_record(),
                model=(model or summary_model(session.model, policy.compaction_model)) if has_model() else "",
                prompt_version=(prompt_version or current_prompt(session.tenant_id)[0]) if has_model() else 0,
                replaces=replaces,
                **shared,
            )
            run: Run = Run.objects.create(kind=Run.Kind.COMPACTION, compaction=compaction, **shared)
    except IntegrityError as error:
        raise Conflict("already_running", "This session is being compacted already.") from error
    audit_rows("request_compaction", [compaction], by=by, now=now)
    return run


def require_no_proposal(tenant_id: UUID, session_id: UUID, *, but: UUID | None = None) -> None:
    """Raise `Conflict` `waits_for_review` while a proposal of the session waits, unless it is `but`."""
    rows = Compaction.objects.for_tenant(tenant_id).of_session(session_id).in_state(Compaction.State.PROPOSED)
    if any(proposed.pk != but for proposed in rows):
        raise Conflict("waits_for_review", "A compaction of this session waits for review; decide on it first.")


def current_prompt(tenant_id: UUID) -> tuple[int, str]:
    """Return version and text of the active prompt; version 1 is built in."""
    row = CompactionPrompt.objects.for_tenant(tenant_id).current().first()
    return (row.version, row.text) if row else (PROMPT_VERSION, PROMPT)


def stored_prompt_versions(tenant_id: UUID) -> list[CompactionPrompt]:
    """Return all versions, newest first; the last is version 1, which is built in and not stored."""
    rows = CompactionPrompt.objects.for_tenant(tenant_id).newest_first()
    return [*rows, CompactionPrompt(tenant_id=tenant_id, version=PROMPT_VERSION, text=PROMPT)]


def prompt_version_text(tenant_id: UUID, version: int) -> str:
    """Return the text of a version. Raises `InvalidInput` if it does not exist."""
    if version == PROMPT_VERSION:
        return PROMPT
    row = CompactionPrompt.objects.for_tenant(tenant_id).numbered(version).first()
    if row is None:
        raise InvalidInput("unknown_version", "There is no such version of the prompt.", "prompt_version")
    return str(row.text)


def state_after(compaction: Compaction, action: str) -> str:
    """Return the state that `action` leads to. Raises `Conflict`: `pending`, `failed` or `already_decided`."""
    try:
        return states.next_state(compaction.state, action)
    except states.TransitionError as error:
        code = compaction.state if compaction.state in states.UNDECIDED_STATES else "already_decided"
        raise Conflict(code, str(error)) from error


WHY_NOTHING = {
    planning.UNDER_TARGET: "The session is under its target.",
    planning.SUMMARIES_OFF: "Nothing can be masked, and the policy disables summaries.",
    planning.NOTHING_OUTSIDE_WINDOW: "All messages are inside the preserve window.",
    planning.ALL_PINNED: "All messages outside the preserve window are pinned.",
    planning.SPAN_TOO_SMALL: "The messages outside the preserve window are too short to summarise.",
}


@dataclass(frozen=True)
class SessionPlan:
    """A plan with its input: the turns that the context shows, and the current summary."""

    plan: planning.CompactionPlan
    turns: tuple[SessionTurn, ...]
    current: Compaction | None
    summary_tokens: int

    @property
    def span(self) -> list[SessionTurn]:
        """The turns to summarise, in order."""
        leaving = set(self.plan.span_ids)
        return [turn for turn in self.turns if turn.id in leaving]

    @property
    def span_tokens(self) -> int:
        """Tokens of the originals of the span; the plan counts its long tool outputs as masked."""
        return sum(turn.tokens for turn in self.span)

    @property
    def masked(self) -> list[SessionTurn]:
        """The tool outputs to mask, without those that are summarised."""
        masked = set(self.plan.mask_ids) - set(self.plan.span_ids)
        return [turn for turn in self.turns if turn.id in masked]


def plan_session(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """Return what a compaction would do now. `is_forced`: plan a summary even if the session is under its target."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    turns = tuple(messages_to_turns(rows.shown().without_vectors(), model=session.model))
    make = partial(
        planning.plan_compaction,
        turns,
        window=session.max_context_tokens,
        policy=policy,
        fixed_tokens=session.directive_tokens + session.summary_tokens,
        summary_tokens=session.summary_tokens,
        reserved_tokens=planning_reserve(session.max_context_tokens),
    )
    plan = make()
    if plan.is_empty and is_forced:
        plan = make(is_forced=True)
    return SessionPlan(plan, turns, session.current, session.summary_tokens)


def plan_or_conflict(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """Return the plan of a compaction. Raises `Conflict` `nothing_to_compact` with the reason if it is empty."""
    plan = plan_session(session, policy, is_forced=is_forced)
    if plan.plan.is_empty:
        raise Conflict("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
    return plan


#: Triggers that compact even under the target.
FORCED = (Compaction.Trigger.MANUAL, Compaction.Trigger.REGENERATE)

DraftingClock = Callable[[], datetime]


class DraftingError(CodedError):
    """There is no draft, and another attempt would fail the same way; `detail` quotes no message."""


@dataclass(frozen=True)
class DraftingInput:
    """The input of a draft, read in one scope; `cited` maps ids of messages that earlier statements cite to texts.

    `api_key_ids` are the keys that wrote the session, whose recalled text it may repeat. `kept_before`,
    `missing_before` and `journal_before` are the facts and the journal of all earlier generations. `is_by_rules`: no
    model is called even if one is configured.
    """

    session: Session
    model: str
    prompt: str
    policy: CompactionPolicy
    plan: SessionPlan
    deadline: datetime | None
    api_key_ids: Collection[str] = ()
    earlier: Sequence[CitedStatement] = ()
    cited: Mapping[str, str] = field(default_factory=dict)
    kept_before: Sequence[RetainedFact] = ()
    missing_before: Sequence[RetainedFact] = ()
    journal_before: Sequence[str] = ()
    generation: int = 1
    attempt: int = 1
    can_wait: bool = False
    is_by_rules: bool = False


def session_key_ids(session: Session, plan: SessionPlan) -> set[str]:
    """Return the ids of the keys that opened the session or appended messages of the span."""
    entries = AuditEntry.objects.for_tenant(session.tenant_id).about_any("message", [turn.id for turn in plan.span])
    writers = entries.of_verbs(["append_messages"]).actor_ids(AuditEntry.ActorKind.KEY)
    return {*writers, *filter(None, [session.created_by_key_id])}


def read_drafting_input(run: Run, *, can_wait: bool, deadline: datetime | None) -> DraftingInput:
    """Read the input for the run's pending compaction from the session as it is now. Raises `DraftingError`."""
    tenant_id = run.tenant_id
    with tenant_scope(tenant_id):
        rows = Compaction.objects.for_tenant(tenant_id).with_id(run.compaction_id)
        compaction: Compaction = rows.with_sessions().get()
        session = compaction.session
        if compaction.state != Compaction.State.PENDING:
            raise DraftingError("already_decided", "This compaction was already decided on.")
        if session.closed_at is not None:
            raise DraftingError("session_closed", "The session is closed.")
        policy = CompactionPolicy.of(compaction.policy)
        plan = plan_session(session, policy, is_forced=compaction.trigger in FORCED)
        if plan.plan.is_empty:
            raise DraftingError("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
        earlier = [CitedStatement.of(record) for record in plan.current.statements] if plan.current else []
        ids = {UUID(source) for statement in earlier for source in statement.message_ids}
        cited = Message.objects.for_tenant(tenant_id).with_ids(ids).said()
        retention = plan.current.retention if plan.current else {}
        version = compaction.prompt_version
        return DraftingInput(
            session=session,
            model=compaction.model,
            prompt=prompt_version_text(tenant_id, version) if version else PROMPT,
            policy=policy,
            plan=plan,
            deadline=deadline,
            api_key_ids=session_key_ids(session, plan),
            earlier=earlier,
            cited={str(pk): f"{name} {content}" for pk, name, content in cited},
            kept_before=recorded_facts(retention, "kept"),
            missing_before=recorded_facts(retention, "missing"),
            journal_before=journal_texts(tenant_id, session.pk),
            generation=(plan.current.generation if plan.current else 0) + 1,
            attempt=run.attempts,
            can_wait=can_wait,
        )
