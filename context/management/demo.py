"""The demo's budget profiles, votes and contexts, replayed as it would have happened."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from context.actions import (
    assign_budget_profile,
    create_budget_profile,
    give_feedback,
    save_budget_profile,
    withdraw_feedback,
)
from context.assembly import assemble_context
from context.budget_profiles import current_budget_profile
from context.receipts import write_receipt
from context.results import ContextRequest
from context.services.demo import Asked, Assigned, ProfileSaved, Step, TakenBack, Voted
from memories.audit import Actor
from memories.scopes import tenant_scope
from memories.services.moments import Moment


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
