"""The demo's profiles, votes, contexts, golden questions and evaluations, replayed as it would have happened."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from context.actions import (
    assign_budget_profile,
    collect_golden_question,
    create_budget_profile,
    create_scoring_profile,
    edit_scoring_profile,
    give_feedback,
    request_evaluation,
    save_budget_profile,
    withdraw_feedback,
)
from context.assembly import assemble_context
from context.budget_profiles import current_budget_profile
from context.evaluating import run_evaluation
from context.models import EvaluationRun
from context.receipts import write_receipt
from context.results import ContextRequest
from context.services.demo import Asked, Assigned, MeasuredStory, ProfileSaved, Step, TakenBack, Voted
from memories.audit import Actor
from memories.scopes import tenant_scope
from memories.services.moments import Moment
from memories.services.partitions import parse_partition


def replay_votes(steps: tuple[Step, ...], tenant_id: UUID, memories: Mapping[str, UUID], *, by: Actor) -> None:
    """Do each step at its moment; `memories` are the ids by ref."""
    known: set[str] = set()
    given: dict[Voted, UUID] = {}
    with tenant_scope(tenant_id):
        for step in steps:
            match step:
                case ProfileSaved() if step.name in known:
                    _save(step, tenant_id, by)
                case ProfileSaved(at, name, changes):
                    create_budget_profile(tenant_id=tenant_id, name=name, changes=changes, by=by, now=at)
                    known.add(name)
                case Assigned(at, name, path):
                    assign_budget_profile(tenant_id=tenant_id, profile_name=name, partition_path=path, by=by, now=at)
                case Voted():
                    given[step] = _vote(step, tenant_id, memories[step.ref], by)
                case TakenBack(at, vote):
                    withdraw_feedback(tenant_id=tenant_id, feedback_id=given[vote], by=by, now=at)


def replay_contexts(questions: Iterable[Asked], tenant_id: UUID, *, by: Actor) -> None:
    """Give each context as it would have been given at its moment, from what was held then, and store its receipt.

    Called with no scope open, once the memories can be searched. Nothing is counted: the demo's counters are those of
    today already.
    """
    for asked in questions:
        request = ContextRequest(
            query=asked.query,
            partition=asked.partition,
            max_tokens=asked.max_tokens,
            moment=Moment.recorded(asked.at),
            preview=True,
        )
        context = assemble_context(request, tenant_id=tenant_id, reach="", actor=by, now=asked.at)
        with tenant_scope(tenant_id):
            write_receipt(context, moment=Moment.now(asked.at), tenant_id=tenant_id, api_key_id=None)


def replay_drafts(story: MeasuredStory, tenant_id: UUID, memories: Mapping[str, UUID], *, by: Actor) -> None:
    """Draft the scoring profiles and collect the golden questions; `memories` are the ids by ref."""
    drafted: dict[str, int] = {}
    with tenant_scope(tenant_id):
        for draft in story.drafts:
            same: dict[str, Any] = {"tenant_id": tenant_id, "name": draft.name, "changes": draft.changes, "by": by}
            if draft.name in drafted:
                row = edit_scoring_profile(**same, edited_from=drafted[draft.name], now=draft.at)
            else:
                row = create_scoring_profile(**same, based_on=draft.based_on, now=draft.at)
            drafted[draft.name] = row.version
        for question in story.questions:
            collect_golden_question(
                tenant_id=tenant_id,
                text=question.query,
                partition=parse_partition(question.partition),
                memory_ids=[memories[ref] for ref in question.wants],
                answer=question.answer,
                category=question.category,
                by=by,
                now=question.at,
            )


def replay_evaluations(story: MeasuredStory, tenant_id: UUID, *, by: Actor) -> None:
    """Ask the golden questions as each evaluation says; called with no scope open, once memories can be searched."""
    for evaluated in story.evaluations:
        with tenant_scope(tenant_id):
            run = request_evaluation(
                tenant_id=tenant_id,
                corpus_kind=EvaluationRun.Corpus.GOLDEN,
                profile=evaluated.profile,
                budgets=evaluated.budgets,
                is_sent=False,
                by=by,
                now=evaluated.at,
            )
        run_evaluation(tenant_id, run.pk, now=evaluated.at)


def _save(step: ProfileSaved, tenant_id: UUID, by: Actor) -> None:
    version = current_budget_profile(tenant_id, step.name).version
    save_budget_profile(
        tenant_id=tenant_id, name=step.name, changes=step.changes, edited_from=version, by=by, now=step.at
    )


def _vote(step: Voted, tenant_id: UUID, memory_id: UUID, by: Actor) -> UUID:
    given = give_feedback(
        tenant_id=tenant_id, memory_id=memory_id, feedback=step.feedback, reason=step.reason, by=by, now=step.at
    )
    return given.votes[0].pk
