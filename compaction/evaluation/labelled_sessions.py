"""Compact labelled sessions as the pipeline does, and count what is kept, stored and mislabelled.

Nothing is stored: every session belongs to a tenant that does not exist. The pipeline reads the database, so this is
called with no scope open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import add
from random import Random
from uuid import NAMESPACE_URL, uuid4, uuid5

from compaction.models import Message, Session
from compaction.pipeline.drafting import CompactionDraft, draft_summary, masked_span_turns
from compaction.pipeline.drafting_input import DraftingInput
from compaction.pipeline.orchestrator import clock_from
from compaction.pipeline.plans import SessionPlan
from compaction.pipeline.session_rows import count_message_tokens, messages_to_turns
from compaction.pipeline.summarisers import has_model, summary_model
from compaction.pipeline.summarisers.extractive import speaking_messages
from compaction.services.evaluation.labels import LabelledMessage, LabelledSession
from compaction.services.evaluation.scores import CompactedSession, Share, score_session
from compaction.services.pipeline.planning import plan_compaction
from compaction.services.pipeline.prompts import PROMPT
from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.stored_statements import CitedStatement
from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.profiles.compaction_policy import CompactionPolicy

#: The default policy, except that the newest messages are summarised too; otherwise their labels could not be measured.
POLICY = CompactionPolicy(preserve_messages=0, preserve_share=0.0)
#: Large enough that the budget of a summary is the policy's share of the messages.
WINDOW_TOKENS = 128_000


@dataclass(frozen=True)
class EvaluatedSession:
    """A labelled session, its compaction within `budget_tokens`, and the shares of `COMPACTION_MEASURES`."""

    session: LabelledSession
    draft: CompactionDraft
    compacted: CompactedSession
    budget_tokens: int
    shares: Mapping[str, Share]


@dataclass(frozen=True)
class SampledStatement:
    """A statement or fact to read, with its sources."""

    session: LabelledSession
    is_fact: bool
    statement: CitedStatement
    sources: Sequence[LabelledMessage]


def evaluate_labelled_session(labelled: LabelledSession, *, is_by_rules: bool, now: datetime) -> EvaluatedSession:
    """Draft the compaction of a whole session. Raises `DraftingError`, `ProviderUnavailableError`."""
    session = Session(tenant_id=uuid4(), model=DEFAULT_MODEL, max_context_tokens=WINDOW_TOKENS)
    rows = [_message(labelled, message, session) for message in labelled.messages]
    turns = tuple(messages_to_turns(rows, model=session.model))
    plan = plan_compaction(turns, window=WINDOW_TOKENS, policy=POLICY, fixed_tokens=0, is_forced=True)
    task = DraftingInput(
        session=session,
        model=summary_model(session.model, "") if has_model() else "",
        prompt=PROMPT,
        policy=POLICY,
        plan=SessionPlan(plan, turns, None, 0),
        deadline=None,
        is_by_rules=is_by_rules,
    )
    draft = draft_summary(task, clock=clock_from(now))
    compacted = CompactedSession(
        statements=draft.summary.statements,
        facts=[entry.statement for entry in draft.journal if entry.memory_id is None],
        extracted=[
            CitedStatement(one.text, one.message_ids, str(one.kind))
            for one in extract_statements(speaking_messages(masked_span_turns(task.plan)))
        ],
        numbers={str(turn.id): number for number, turn in enumerate(turns)},
    )
    return EvaluatedSession(labelled, draft, compacted, plan.summary_budget_tokens, score_session(labelled, compacted))


def total_shares(evaluated: Sequence[EvaluatedSession]) -> dict[str, Share]:
    """Return each measure over all sessions, of which there is at least one."""
    return {name: reduce(add, (one.shares[name] for one in evaluated)) for name in evaluated[0].shares}


def sample_statements(evaluated: Sequence[EvaluatedSession], count: int, *, seed: int) -> list[SampledStatement]:
    """Return up to `count` statements and facts of all sessions; the same ones for the same seed."""
    everything = [
        SampledStatement(one.session, is_fact, statement, _sources(one, statement))
        for one in evaluated
        for is_fact, statements in ((False, one.compacted.statements), (True, one.compacted.facts))
        for statement in statements
    ]
    chosen = Random(seed).sample(range(len(everything)), min(count, len(everything)))  # noqa: S311 - no secret
    return [everything[index] for index in sorted(chosen)]


def _sources(evaluated: EvaluatedSession, statement: CitedStatement) -> list[LabelledMessage]:
    numbers = sorted(
        evaluated.compacted.numbers[one] for one in statement.message_ids if one in evaluated.compacted.numbers
    )
    return [evaluated.session.messages[number] for number in numbers]


def _message(labelled: LabelledSession, message: LabelledMessage, session: Session) -> Message:
    row = Message(
        id=uuid5(NAMESPACE_URL, f"{labelled.id}:{message.number}"),
        session=session,
        sequence=message.number,
        role=message.role,
        name=message.name,
        content=message.content,
        created_at=message.created_at,
    )
    row.tokens = row.shown_tokens = count_message_tokens(row, session.model)
    return row
